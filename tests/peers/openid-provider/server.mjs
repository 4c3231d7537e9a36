// A real OpenID Provider for the tests: npm `oidc-provider` on loopback, with clients, lifetimes and a token exchange.
//
// Comes in: a port as the argument (0 or none: any free one) and these variables:
//   CI_SECRET, CI_POST_SECRET   secrets of the clients `ci` (client_secret_basic) and `ci-post` (client_secret_post)
//   CI_JWT_PUBLIC_KEY           PEM file with the P-256 public key of the client `ci-jwt` (private_key_jwt)
//   VAULT_SECRET                secret of the client `vault` (client_secret_post): a Vault that signs people in
//   MINT_SECRET                 secret of the client `mint`, by which the test kit has tokens made for any subject
//   TTL                         life in seconds of what the other clients get; 300 if not set
//   REFUSES                     names of what this issuer does not have, separated by commas: `revocation`, `device`
//   TLS_CERTIFICATE, TLS_KEY    PEM files; with them the issuer speaks https
//   ISSUER_HOST                 name by which the issuer is known, on the usual port; its own address on loopback if not set
//   ISSUER_PATH                 path of the issuer below its host, beginning with a slash; none if not set
// Goes out: one line `listening <port>`, one line `ready <issuer>`, one JSON line for each request to the token endpoint and to those for revocation and
// introspection, without its secrets, and one line `issued <JSON>` with the tokens that the client `cli` was given: the test
// looks for them where they must not be.
// May not touch: anything but loopback. Keys live in memory and are new at each start.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { createPublicKey } from 'node:crypto';
import { Provider, errors } from 'oidc-provider';
import { exportJWK, generateKeyPair } from 'jose';
import { TOKEN_EXCHANGE, tokenExchange } from './token-exchange.mjs';

const lifetime = Number(process.env.TTL ?? 300);
const path = process.env.ISSUER_PATH ?? '';
const refuses = new Set((process.env.REFUSES ?? '').split(','));
const say = (line) => process.stdout.write(`${line}\n`);

const signing = await generateKeyPair('ES256', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const jwks = {
  keys: [
    { ...(await exportJWK(signing.privateKey)), alg: 'ES256', use: 'sig', kid: 'es' },
    { ...(await exportJWK(rsa.privateKey)), alg: 'RS256', use: 'sig', kid: 'rs' },
  ],
};

function confidential(client_id, token_endpoint_auth_method, more) {
  return {
    client_id,
    token_endpoint_auth_method,
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials', TOKEN_EXCHANGE],
    ...more,
  };
}

function clients(env) {
  const list = [
    {
      client_id: 'cli',
      client_name: 'credmint',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      // Any port of a loopback host will do (RFC 8252 section 7.3).
      redirect_uris: ['127.0.0.1', '[::1]', 'localhost'].flatMap((host) => [`http://${host}/callback`, `http://${host}/sign-in/done`]),
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code', TOKEN_EXCHANGE],
      id_token_signed_response_alg: 'ES256',
    },
  ];
  if (env.CI_SECRET) list.push(confidential('ci', 'client_secret_basic', { client_secret: env.CI_SECRET }));
  if (env.CI_POST_SECRET) list.push(confidential('ci-post', 'client_secret_post', { client_secret: env.CI_POST_SECRET }));
  if (env.VAULT_SECRET) {
    // People come back to Vault's own command line, or to Vault itself (callback mode `direct`), on loopback both.
    const paths = ['/oidc/callback', '/v1/auth/oidc/oidc/callback'];
    list.push(confidential('vault', 'client_secret_post', {
      client_secret: env.VAULT_SECRET,
      application_type: 'native',
      redirect_uris: ['127.0.0.1', 'localhost'].flatMap((host) => paths.map((path) => `http://${host}${path}`)),
      response_types: ['code'],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    }));
  }
  if (env.MINT_SECRET) list.push(confidential('mint', 'client_secret_basic', { client_secret: env.MINT_SECRET }));
  if (env.CI_JWT_PUBLIC_KEY) {
    const key = createPublicKey(readFileSync(env.CI_JWT_PUBLIC_KEY)).export({ format: 'jwk' });
    list.push(confidential('ci-jwt', 'private_key_jwt', { jwks: { keys: [{ ...key, use: 'sig', alg: 'ES256' }] } }));
  }
  return list;
}

// What `mint` asks for in its request body is put over the claims that the provider made: subject, audience, life (a
// negative one makes a token that has expired already) and any others as a JSON object.
function claimsOnRequest(ctx, token, jwt) {
  if (token.clientId !== 'mint' || !ctx.oidc?.body) return jwt;
  const { subject, audience, ttl, claims } = ctx.oidc.body;
  const payload = jwt.payload;
  if (subject) payload.sub = subject;
  if (audience) payload.aud = audience;
  if (ttl) {
    const life = Number(ttl);
    if (life < 0) payload.iat += life - 60;
    payload.exp = Math.floor(Date.now() / 1000) + life;
  }
  Object.assign(payload, claims ? JSON.parse(claims) : {});
  return jwt;
}

function resourceServer(ctx, resource) {
  if (resource.includes('nowhere')) throw new errors.InvalidTarget('no such resource');
  return {
    audience: resource,
    scope: 'registry openid email',
    accessTokenFormat: resource.includes('opaque') ? 'opaque' : 'jwt',
    accessTokenTTL: lifetime,
    jwt: { sign: { alg: 'ES256' } },
  };
}

function configuration() {
  return {
    jwks,
    clients: clients(process.env),
    scopes: ['openid', 'offline_access', 'email', 'registry'],
    claims: { openid: ['sub'], email: ['email'] },
    // The claims of a scope are in the ID token itself, as most issuers have it.
    conformIdTokenClaims: false,
    findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({ sub: id, email: `${id}@corp.example`, groups: ['infra'] }) }),
    pkce: { required: () => true },
    cookies: { keys: ['for tests on loopback only'] },
    rotateRefreshToken: true,
    formats: { customizers: { jwt: claimsOnRequest } },
    ttl: {
      AccessToken: lifetime,
      ClientCredentials: lifetime,
      DeviceCode: 60,
      Grant: 3600,
      IdToken: lifetime,
      Interaction: 300,
      RefreshToken: 3600,
      Session: 3600,
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      deviceFlow: { enabled: !refuses.has('device') },
      introspection: { enabled: true },
      revocation: { enabled: !refuses.has('revocation') },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:credmint:test',
        useGrantedResource: () => true,
        getResourceServerInfo: resourceServer,
      },
    },
  };
}

// How the client showed who it is, told from the shape of its request.
function authentication(ctx) {
  if (ctx.get('authorization')) return 'client_secret_basic';
  if (ctx.oidc?.body?.client_assertion) return 'private_key_jwt';
  return ctx.oidc?.body?.client_secret ? 'client_secret_post' : 'none';
}

const RECORDED = ['/token', '/token/revocation', '/token/introspection'];

async function record(ctx, next) {
  await next();
  if (ctx.method !== 'POST' || !RECORDED.includes(ctx.path)) return;
  const { grant_type, audience, resource, scope, actor_token, token_type_hint } = ctx.oidc?.body ?? {};
  const { clientId: client } = ctx.oidc?.client ?? {};
  const { path: endpoint, status } = ctx;
  const { error, access_token, id_token, refresh_token } = ctx.body ?? {};
  const who = { client, authentication: authentication(ctx) };
  say(JSON.stringify({ endpoint, ...who, grant_type, audience, resource, scope, token_type_hint, actor: Boolean(actor_token), status, error }));
  if (client === 'cli' && access_token) say(`issued ${JSON.stringify({ grant_type, access_token, id_token, refresh_token })}`);
}

const { TLS_CERTIFICATE: certificate, TLS_KEY: key } = process.env;
const server = certificate ? createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) }) : createServer();
const scheme = certificate ? 'https' : 'http';
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = server.address();
  const issuer = `${scheme}://${process.env.ISSUER_HOST ?? `127.0.0.1:${port}`}${path}`;
  const provider = new Provider(issuer, configuration());
  tokenExchange(provider, { issuer, lifetime, ...signing, kid: 'es' });
  provider.use(record);
  provider.on('server_error', (ctx, error) => console.error('server_error', error));
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url.startsWith(path)) return response.writeHead(404).end();
    request.originalUrl = request.url;
    request.url = request.url.slice(path.length) || '/';
    return answer(request, response);
  });
  say(`listening ${port}`);
  say(`ready ${issuer}`);
});
