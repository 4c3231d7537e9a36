# A workspace that is built as its owner. No provider block has a credential, and no data source reads one: what a template reads is
# in the state and in the plan. Each provider asks credmint, which exchanges the owner's token while it runs.

terraform {
  required_providers {
    coder      = { source = "coder/coder" }
    aws        = { source = "hashicorp/aws" }
    google     = { source = "hashicorp/google" }
    azurerm    = { source = "hashicorp/azurerm" }
    kubernetes = { source = "hashicorp/kubernetes" }
    vault      = { source = "hashicorp/vault" }
    gitlab     = { source = "gitlabhq/gitlab" }
  }
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

# The profile is in /etc/credmint/aws (AWS_CONFIG_FILE): credential_process = credmint-aws aws. Asked again before the keys end.
provider "aws" {
  profile = "owner"
  region  = "eu-central-1"
}

# GOOGLE_CREDENTIALS names /etc/credmint/google.json: an external account whose executable is credmint-google.
provider "google" {
  project = "workspaces"
  region  = "europe-west3"
}

# ARM_OIDC_REQUEST_URL and what belongs to it are set by `credmint exec`, which the wrapper named terraform starts.
provider "azurerm" {
  features {}
  use_oidc        = true
  subscription_id = "22222222-3333-4444-5555-666666666666"
}

provider "kubernetes" {
  host = "https://cluster.corp.example:6443"

  exec {
    api_version = "client.authentication.k8s.io/v1"
    command     = "/opt/credmint/credmint-kubernetes"
    args        = ["cluster"]
  }
}

# VAULT_CONFIG_PATH names /etc/credmint/vault: token_helper = credmint-vault, which knows the server by VAULT_ADDR.
provider "vault" {
  address            = "https://vault.corp.example:8200"
  add_address_to_env = "true"
}

# GITLAB_TOKEN is set by `credmint exec`.
provider "gitlab" {
  base_url = "https://gitlab.corp.example/api/v4"
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}

resource "aws_instance" "workspace" {
  count         = data.coder_workspace.me.start_count
  ami           = "ami-0123456789abcdef0"
  instance_type = "t3.large"
  user_data     = coder_agent.main.init_script

  tags = {
    Name  = "coder-${data.coder_workspace_owner.me.name}-${data.coder_workspace.me.name}"
    Owner = data.coder_workspace_owner.me.email
  }
}

resource "google_storage_bucket" "workspace" {
  name     = "coder-${data.coder_workspace.me.id}"
  location = "EU"
}

data "azurerm_key_vault" "team" {
  name                = "team"
  resource_group_name = "workspaces"
}

resource "kubernetes_config_map_v1" "workspace" {
  metadata {
    name      = "coder-${data.coder_workspace.me.id}"
    namespace = "workspaces"
  }
  data = { owner = data.coder_workspace_owner.me.name }
}

data "vault_policy_document" "workspace" {
  rule {
    path         = "secret/data/workspaces/${data.coder_workspace_owner.me.name}/*"
    capabilities = ["read"]
  }
}

data "gitlab_project" "infra" {
  path_with_namespace = "platform/infra"
}
