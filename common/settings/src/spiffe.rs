//! SPIFFE: what a workload is known by to the agent of its node, over the Workload API.
//! Keys of an identity or an issuer become plain structs.
//! Holds names and addresses only; `credmint-identities` asks what listens there.

/// Names the variable of the caller's environment that has the Workload API's address (SPIFFE Workload Endpoint §4).
pub const SPIFFE_ENDPOINT_SOCKET: &str = "SPIFFE_ENDPOINT_SOCKET";

/// Says where the Workload API is, and which of the workload's identities is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpiffeWorkload {
    /// `socket`: an absolute path, `unix:///…` or `tcp://IP:port`; `None`: the caller's [`SPIFFE_ENDPOINT_SOCKET`].
    pub socket: Option<String>,
    /// `spiffe_id`; `None`: the one that the Workload API puts first.
    pub spiffe_id: Option<String>,
}

/// `[identity.NAME]` of kind `spiffe`: a JWT-SVID.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpiffeIdentity {
    /// `audience`: one or more.
    pub audience: Vec<String>,
    /// Where it is asked for, and as whom.
    pub workload: SpiffeWorkload,
}
