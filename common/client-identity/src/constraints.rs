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
