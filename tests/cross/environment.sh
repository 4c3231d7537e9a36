# What the scripts of this folder share; sourced, not run. Needs `set -euo pipefail` and bash.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repository/tests/cross
# Apart from the other builds: their target directory is not touched.
cross=$repository/target/cross

# Pinned: what the build of another system's standard library was tried with.
zig=0.16.0
cargo_zigbuild=0.24.0

# The executables, and with them every room they are made of.
programs=(credmint credmint-agent terraform-credentials-credmint terraform-credentials-vault-pki terraform-credentials-oidc
    credmint-aws credmint-google credmint-kubernetes credmint-vault credmint-github git-credential-credmint docker-credential-credmint)

zig_program=$cross/tools/ziglang-$zig/ziglang/zig
zigbuild_program=$cross/tools/cargo-zigbuild-$cargo_zigbuild/bin/cargo-zigbuild

say() { printf 'cross: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

# Builds or checks the executables for one target with its standard library made from source, without debug information.
cross_cargo() { # target cargo-command…
    local target=$1 chosen=()
    shift
    local program
    for program in "${programs[@]}"; do chosen+=(--package "$program"); done
    # A development build's libraries are optimised, which only tests that wait for them need.
    env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$cross/$target" CARGO_TERM_COLOR=never \
        nice -n 10 "$@" --quiet --jobs "${CROSS_JOBS:-2}" --target "$target" -Z build-std=std,panic_abort \
        --config profile.dev.debug=0 --config 'profile.dev.package."*".opt-level=0' "${chosen[@]}"
}

# Compares what a program printed with what it should have.
expect() { # what wanted got
    if [[ $2 == "$3" ]]; then
        say "  ok: $1"
    else
        say "  WRONG: $1"
        printf '    wanted: %s\n    got:    %s\n' "$2" "$3"
        return 1
    fi
}

# Compares a part of what a program printed.
expect_part() { # what part whole
    if [[ $3 == *"$2"* ]]; then
        say "  ok: $1"
    else
        say "  WRONG: $1"
        printf '    wanted: %s\n    in:     %s\n' "$2" "$3"
        return 1
    fi
}

# A host whose token is the caller's own; nothing needs a network.
settings='[identity.job]
kind = "env"
variable = "WORKLOAD_TOKEN"

[issuer.as-it-is]
kind = "oidc"

[host."registry.corp.example"]
identity = ["job"]
issuer = "as-it-is"
deliver = "token"
'

# A host of its own for a certificate: while settings name it, the helper stays where `setup` put it.
certificate_settings='
[issuer.own-ca]
kind = "local-ca"
common_name = "job"
ttl = "1h"

[host."inline.corp.example"]
identity = ["job"]
issuer = "own-ca"
deliver = "inline"
'
