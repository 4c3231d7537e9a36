//! Logging in to Vault or OpenBao: address, namespace, auth method.
//! Fields of an issuer's table come in, a [`VaultLogin`] goes out.
//! Paths are checked here so that no setting can leave the place it names.

use crate::error::SettingsError;
use crate::issuer::{VaultAuth, VaultLogin};
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, Kind, may, must};

/// Keys that every Vault issuer has; `PEER` goes with them.
pub(crate) const LOGIN: &[Key] = &[must("address"), may("namespace"), must("auth")];

pub(crate) const METHODS: &[Kind<VaultAuth>] = &[
    Kind { word: "jwt", keys: &[&[may("mount"), may("role")]], read: jwt },
    Kind { word: "kubernetes", keys: &[&[may("mount"), must("role")]], read: kubernetes },
    Kind { word: "approle", keys: &[&[may("mount"), must("role_id"), must("secret_id")]], read: app_role },
    Kind { word: "cert", keys: &[&[may("mount"), may("role"), must("certificate"), must("key")]], read: cert },
    Kind { word: "token", keys: &[&[must("token")]], read: token },
    Kind { word: "aws", keys: &[&[may("mount"), may("role")]], read: aws },
    Kind { word: "identity", keys: &[], read: |_| Ok(VaultAuth::Identity) },
];

pub(crate) fn login(fields: &Fields<'_>) -> Result<VaultLogin, SettingsError> {
    Ok(VaultLogin {
        address: fields.required("address", Item::server)?.trim_end_matches('/').to_owned(),
        namespace: fields.optional("namespace", Item::namespace)?,
        auth: fields.required("auth", Item::vault_auth)?,
        peer: peer(fields)?,
    })
}

fn jwt(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    let role = fields.optional("role", Item::text)?.unwrap_or_default();
    Ok(VaultAuth::Jwt { mount: mount(fields, "jwt")?, role })
}

fn kubernetes(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    Ok(VaultAuth::Kubernetes { mount: mount(fields, "kubernetes")?, role: fields.required("role", Item::text)? })
}

fn aws(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    Ok(VaultAuth::Aws { mount: mount(fields, "aws")?, role: fields.optional("role", Item::text)? })
}

fn app_role(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    Ok(VaultAuth::AppRole {
        mount: mount(fields, "approle")?,
        role_id: fields.required("role_id", Item::text)?,
        secret_id: fields.required("secret_id", Item::source)?,
    })
}

fn cert(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    Ok(VaultAuth::Cert {
        mount: mount(fields, "cert")?,
        role: fields.optional("role", Item::text)?,
        certificate: fields.required("certificate", Item::source)?,
        key: fields.required("key", Item::source)?,
    })
}

fn token(fields: &Fields<'_>) -> Result<VaultAuth, SettingsError> {
    Ok(VaultAuth::Token { token: fields.required("token", Item::source)? })
}

pub(crate) fn mount(fields: &Fields<'_>, default: &str) -> Result<String, SettingsError> {
    Ok(fields.optional("mount", Item::auth_mount)?.unwrap_or_else(|| default.to_owned()))
}

impl Item<'_> {
    /// Reads a path below `/v1/`; slashes at its ends are dropped, as `vault` does.
    pub(crate) fn vault_path(&self) -> Result<String, SettingsError> {
        let path = self.text()?.trim_matches('/').to_owned();
        if path.starts_with("v1/") {
            return Err(self.is_wrong("begins with `v1/`").with_hint("leave `v1/` out: it is part of the address"));
        }
        let bad_segment = |segment: &str| segment.is_empty() || segment == "." || segment == "..";
        let bad_character = |c: char| !c.is_ascii_graphic() || "?#%\\".contains(c);
        if path.split('/').any(bad_segment) || path.contains(bad_character) {
            return Err(self.is_wrong("is not a path of Vault").with_hint("a path looks like pki or teams/a/pki"));
        }
        Ok(path)
    }

    /// Reads one segment of a path.
    pub(crate) fn vault_name(&self) -> Result<String, SettingsError> {
        let name = self.vault_path()?;
        if name.contains('/') {
            return Err(self
                .is_wrong("has a slash in it")
                .with_hint("give the name alone; the mount path has a key of its own"));
        }
        Ok(name)
    }

    fn auth_mount(&self) -> Result<String, SettingsError> {
        let mount = self.vault_path()?;
        match mount.strip_prefix("auth/") {
            Some(rest) => Err(self.is_wrong("begins with `auth/`").with_hint(format!("write `{rest}`"))),
            None => Ok(mount),
        }
    }

    pub(crate) fn namespace(&self) -> Result<String, SettingsError> {
        let namespace = self.text()?;
        if namespace.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(namespace);
        }
        Err(self.is_wrong("has a character that no namespace has").with_hint("a namespace looks like teams/a"))
    }

    fn vault_auth(&self) -> Result<VaultAuth, SettingsError> {
        let table = self.table("a table", "{ method = \"jwt\", role = \"NAME\" }")?;
        Fields::read_kind(table, "method", METHODS)
    }
}
