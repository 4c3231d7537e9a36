//! A shorter life than the settings say, for one run: what an issuer is asked for at most.
//! An issuer and a length of time come in, the issuer that asks for no more goes out, where it lets anybody choose.
//! Pure. What an issuer grants nothing below is refused before it is asked.

use std::time::Duration;

use crate::issuer::Issuer;

/// Says that an issuer grants nothing that lives for less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort(
    /// The least that it grants.
    pub Duration,
);

/// Where an issuer keeps the life that it asks for, and the least there is of it.
type Life<'a> = (&'a mut Option<Duration>, Duration);

impl Issuer {
    /// Gives the issuer that asks for at most this life; `None` where the other side alone decides.
    ///
    /// # Errors
    /// [`TooShort`] when the other side grants nothing so short.
    pub fn for_at_most(&self, life: Duration) -> Result<Option<Self>, TooShort> {
        let mut own = self.clone();
        if let Self::LocalCa(authority) = &mut own {
            authority.ttl = authority.ttl.min(life);
            return Ok(Some(own));
        }
        let Some((asked, least)) = own.life() else { return Ok(None) };
        if life < least {
            return Err(TooShort(least));
        }
        *asked = Some(asked.map_or(life, |asked| asked.min(life)));
        Ok(Some(own))
    }

    fn life(&mut self) -> Option<Life<'_>> {
        match self {
            Self::AwsSts(sts) => Some((&mut sts.duration, QUARTER_OF_AN_HOUR)),
            Self::RolesAnywhere(anywhere) => Some((&mut anywhere.duration, QUARTER_OF_AN_HOUR)),
            Self::GoogleSts(sts) if sts.service_account.is_some() => Some((&mut sts.lifetime, TEN_MINUTES)),
            Self::KubernetesToken(token) => Some((&mut token.ttl, TEN_MINUTES)),
            Self::VaultPki(pki) => Some((&mut pki.ttl, Duration::ZERO)),
            Self::StepCa(step) => Some((&mut step.ttl, Duration::ZERO)),
            _ => None,
        }
    }
}

/// The least of AssumeRole and CreateSession.
const QUARTER_OF_AN_HOUR: Duration = Duration::from_secs(15 * 60);
/// The least of TokenRequest, and of what Google's libraries ask for.
const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(lines: &str) -> Issuer {
        let settings = crate::read(&[("test".into(), format!("[issuer.x]\n{lines}"))]).expect("valid");
        settings.issuers.get("x").cloned().expect("an issuer")
    }

    const AWS: &str =
        "kind = \"aws-sts\"\nrole_arn = \"arn:aws:iam::123456789012:role/x\"\nregion = \"eu-central-1\"\n";

    #[test]
    fn a_run_may_ask_for_less_and_never_for_more() {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        let asked = |own: &Issuer, life| match own.for_at_most(life) {
            Ok(Some(Issuer::AwsSts(sts))) => sts.duration,
            _ => None,
        };
        assert_eq!(asked(&issuer(AWS), minutes(20)), Some(minutes(20)));
        let half = issuer(&format!("{AWS}duration = \"30m\""));
        assert_eq!(asked(&half, minutes(20)), Some(minutes(20)));
        assert_eq!(asked(&half, minutes(60)), Some(minutes(30)));
        assert_eq!(half.for_at_most(minutes(14)), Err(TooShort(minutes(15))));
        assert_eq!(issuer("kind = \"oidc\"").for_at_most(minutes(1)), Ok(None));
        let Ok(Some(Issuer::LocalCa(own))) = issuer("kind = \"local-ca\"").for_at_most(minutes(1)) else { panic!() };
        assert_eq!(own.ttl, minutes(1));
    }
}
