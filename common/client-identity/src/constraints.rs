//! What an authority may vouch for: some servers, and nothing else.
//! Names of servers come in, name constraints go out.
//! Touches nothing. RFC 5280 §4.2.1.10: a kind of name that is not mentioned is not constrained, so both kinds always are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints};

use crate::names::Names;

/// Permits the DNS names and addresses, and excludes whatever else a server could be called.
pub(crate) fn to(servers: &Names) -> NameConstraints {
    let names = servers.dns_names.iter().map(|name| GeneralSubtree::DnsName(name.clone()));
    let addresses = servers.ip_addresses.iter().map(|ip| alone(*ip));
    let mut excluded = Vec::new();
    if servers.dns_names.is_empty() {
        // The empty name has all others below it.
        excluded.push(GeneralSubtree::DnsName(String::new()));
    }
    if servers.ip_addresses.is_empty() {
        excluded.push(all(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        excluded.push(all(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
    }
    NameConstraints { permitted_subtrees: names.chain(addresses).collect(), excluded_subtrees: excluded }
}

fn alone(ip: IpAddr) -> GeneralSubtree {
    GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(ip, if ip.is_ipv4() { 32 } else { 128 }))
}

fn all(ip: IpAddr) -> GeneralSubtree {
    GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(ip, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dns_names: &[&str], ip_addresses: &[&str]) -> NameConstraints {
        let dns_names = dns_names.iter().map(|&name| name.to_owned()).collect();
        let ip_addresses = ip_addresses.iter().map(|ip| ip.parse().unwrap()).collect();
        to(&Names { dns_names, ip_addresses, ..Names::default() })
    }

    fn everywhere() -> Vec<GeneralSubtree> {
        vec![all(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), all(IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    }

    #[test]
    fn names_alone_exclude_every_address() {
        let constraints = of(&["a.example", "b.example"], &[]);
        let names = ["a.example", "b.example"].map(|name| GeneralSubtree::DnsName(name.to_owned()));
        assert_eq!((constraints.permitted_subtrees, constraints.excluded_subtrees), (names.to_vec(), everywhere()));
    }

    #[test]
    fn addresses_alone_exclude_every_name() {
        let constraints = of(&[], &["10.0.0.7", "fd00::7"]);
        let v4 = CidrSubnet::V4([10, 0, 0, 7], [255; 4]);
        assert_eq!(constraints.permitted_subtrees.first(), Some(&GeneralSubtree::IpAddress(v4)));
        assert_eq!(constraints.permitted_subtrees.len(), 2);
        assert_eq!(constraints.excluded_subtrees, [GeneralSubtree::DnsName(String::new())]);
    }

    #[test]
    fn with_both_what_is_not_permitted_is_out_already_and_with_none_all_is_excluded() {
        assert!(of(&["a.example"], &["10.0.0.7"]).excluded_subtrees.is_empty());
        let none = of(&[], &[]);
        assert!(none.permitted_subtrees.is_empty() && none.excluded_subtrees.len() == 3);
    }
}
