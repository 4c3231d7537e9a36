//! The PKI secrets engine: an authority in two steps, roles, and what was minted.
//!
//! A mount path comes in, with slashes if wished; a root and an intermediate that signs are set up.

use serde_json::{Value, json};

use super::Client;

/// A PKI mount that signs with an intermediate.
pub struct Pki {
    client: Client,
    mount: String,
    root: String,
    intermediate: String,
    own: usize,
}

/// What a role allows; the rest is left at what OpenBao takes by default.
pub type RoleOptions = Value;

impl Client {
    /// Mounts an intermediate at `mount` and its root at `<mount>-root`.
    pub fn pki(&self, mount: &str) -> Pki {
        let root_mount = format!("{mount}-root");
        for path in [&root_mount, mount] {
            let config = json!({ "max_lease_ttl": "8760h" });
            self.write(&format!("sys/mounts/{path}"), json!({ "type": "pki", "config": config }));
        }
        let root = self.write(
            &format!("{root_mount}/root/generate/internal"),
            json!({ "common_name": "Corp Root", "ttl": "8760h", "key_type": "ec", "key_bits": 256 }),
        );
        let request = self.write(
            &format!("{mount}/intermediate/generate/internal"),
            json!({ "common_name": "Corp Issuing", "key_type": "ec", "key_bits": 256 }),
        );
        let signed = self.write(
            &format!("{root_mount}/root/sign-intermediate"),
            json!({ "csr": request["data"]["csr"], "common_name": "Corp Issuing", "ttl": "4380h" }),
        );
        let (root, intermediate) = (text(&root["data"]["certificate"]), text(&signed["data"]["certificate"]));
        let path = format!("{intermediate}\n{root}");
        self.write(&format!("{mount}/intermediate/set-signed"), json!({ "certificate": path }));
        let own = self.list(&format!("{mount}/certs")).len();
        Pki { client: self.clone(), mount: mount.to_owned(), root, intermediate, own }
    }
}

impl Pki {
    /// Gives the mount path.
    pub fn mount(&self) -> &str {
        &self.mount
    }

    /// Gives the root certificate in PEM form.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Gives the intermediate certificate in PEM form.
    pub fn intermediate(&self) -> &str {
        &self.intermediate
    }

    /// Gives intermediate and root, as a server wants them that accepts clients who send the leaf alone.
    pub fn path(&self) -> String {
        format!("{}\n{}\n", self.intermediate.trim(), self.root.trim())
    }

    /// Makes a role for client certificates of any name, at most a day; options are put over that.
    pub fn role(&self, name: &str, options: RoleOptions) {
        let mut role = json!({
            "allow_any_name": true, "enforce_hostnames": false, "allow_ip_sans": true, "allowed_uri_sans": ["*"],
            "allowed_other_sans": ["*"], "key_type": "any", "client_flag": true, "server_flag": false, "max_ttl": "24h",
            "cn_validations": ["disabled"],
        });
        if let (Some(role), Some(options)) = (role.as_object_mut(), options.as_object()) {
            role.extend(options.clone());
        }
        self.client.write(&format!("{}/roles/{name}", self.mount), role);
    }

    /// Writes the policy that allows signing with one role and nothing else; gives its name.
    pub fn policy_for(&self, role: &str) -> String {
        let name = format!("sign-{}-{role}", self.mount.replace('/', "-"));
        self.client.policy(&name, &format!("path \"{}/sign/{role}\" {{ capabilities = [\"update\"] }}", self.mount));
        name
    }

    /// Signs a certification request; gives the answer's data.
    pub fn sign(&self, role: &str, request: &str, common_name: &str) -> Value {
        let body = json!({ "csr": request, "common_name": common_name });
        self.client.write(&format!("{}/sign/{role}", self.mount), body)["data"].clone()
    }

    /// Lists the serial numbers of all certificates that the mount keeps, its own included.
    pub fn serials(&self) -> Vec<String> {
        self.client.list(&format!("{}/certs", self.mount))
    }

    /// Counts the certificates that were minted since the mount was set up.
    pub fn minted(&self) -> usize {
        self.serials().len() - self.own
    }

    /// Lists the serial numbers that were revoked.
    pub fn revoked(&self) -> Vec<String> {
        self.client.list(&format!("{}/certs/revoked", self.mount))
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text in the answer").trim().to_owned()
}
