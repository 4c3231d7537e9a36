//! By which way a program reaches the hosts of its run: `host` blocks that lead to the bridge, a proxy, or both.
//! What was asked for and the mirrors of the tool's configuration come in; what the run is to have goes out.
//! Decides, and touches nothing else. `protocol-spec/bridge-protocol.md` §10.

use clap::ValueEnum;
use credmint_vocabulary::{Hostname, is_loopback};

use super::mirrors::Mirrors;
use super::proxy;

/// `--carrier`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Carrier {
    /// `host` blocks; on Linux also the proxy, when a mirror of the CLI configuration is at a host of the settings
    #[default]
    Auto,
    /// `host` blocks alone
    Host,
    /// The proxy alone
    Proxy,
}

/// What a run has.
pub(crate) struct Ways {
    /// Whether `host` blocks lead to the bridge.
    pub(crate) has_blocks: bool,
    /// Whether there is a proxy.
    pub(crate) has_proxy: bool,
    /// The mirrors that no proxy leads to.
    pub(crate) mirrors: Mirrors,
}

impl Ways {
    /// Decides. A mirror that a proxy leads to needs nothing else.
    pub(crate) fn of(carrier: Carrier, mirrors: Mirrors) -> Self {
        let has_proxy = match carrier {
            Carrier::Auto => IS_HONOURED && mirrors != Mirrors::default() && proxy::can_pass_on(),
            Carrier::Host => false,
            Carrier::Proxy => true,
        };
        let mirrors = if has_proxy { Mirrors::default() } else { mirrors };
        Self { has_blocks: carrier != Carrier::Proxy, has_proxy, mirrors }
    }

    /// Tells whether a host has a `host` block. To this machine itself no program asks a proxy for the way.
    pub(crate) fn has_block(&self, host: &Hostname) -> bool {
        self.has_blocks || is_loopback(host.name())
    }

    /// Lists what is said to the person.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let unheard = (self.has_proxy && !IS_HONOURED).then(|| ONLY_NEW_GO.to_owned());
        self.mirrors.remarks().into_iter().chain(unheard).collect()
    }
}

/// Whether programs made with the Go of today believe the authority of a run.
const IS_HONOURED: bool = cfg!(not(any(windows, target_os = "macos")));
const ONLY_NEW_GO: &str = "here only programs made with Go 1.27 or later read SSL_CERT_FILE: others, terraform among them, do not \
                           believe the proxy of this run; without --carrier proxy they need not";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_alone_needs_no_block_but_for_this_machine_itself() {
        let (proxy, host) = (Ways::of(Carrier::Proxy, Mirrors::default()), Ways::of(Carrier::Host, Mirrors::default()));
        let name = |text| Hostname::from_comparison_form(text).expect("a hostname");
        assert!(!proxy.has_block(&name("registry.corp.example")) && proxy.has_block(&name("127.0.0.1:8443")));
        assert!(proxy.has_proxy && !host.has_proxy && host.has_block(&name("registry.corp.example")));
        assert!(!Ways::of(Carrier::Auto, Mirrors::default()).has_proxy);
    }

    #[test]
    fn a_mirror_gets_a_proxy_by_itself_where_programs_believe_it() {
        let mirrors = || Mirrors { left: vec!["the mirror at a host".to_owned()], ..Mirrors::default() };
        let ways = Ways::of(Carrier::Auto, mirrors());
        assert_eq!((ways.has_proxy, ways.remarks().is_empty()), (IS_HONOURED, IS_HONOURED));
        assert_eq!(Ways::of(Carrier::Host, mirrors()).remarks(), mirrors().left);
    }
}
