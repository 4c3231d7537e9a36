//! The syntax of a CLI configuration: HCL 1, of which HCL 2 would refuse what people write, such as keys in quotes.
//! Text comes in; items, where they stand, and what their values say go out.
//! Touches nothing. Terraform reads this file with `hashicorp/hcl` version 1, and so does `OpenTofu`.

mod items;
mod value;

pub(crate) use items::{Item, Malformed, items};
pub(crate) use value::{key, list, one_line, text};
