//! `fadelab kernel`: laws in the kernel of this machine.

mod build;
mod check;
mod clean;
mod gateway;
pub mod list;
pub mod load;
mod record;
mod router;
mod service;
mod unload;
mod view;

use clap::Subcommand;
use fadelab_lab::Failure;
use nix::unistd::Uid;

/// What to do with the kernel.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Say what this machine can do, and what to do where it cannot
    Check(check::CheckArgs),
    /// Compile a law for all kernels into one file, which is loaded where there is no compiler
    Build(build::BuildArgs),
    /// Load a law: any socket can then choose it as its congestion control
    Load(load::LoadArgs),
    /// Take laws away
    Unload(unload::UnloadArgs),
    /// List the loaded laws, where they are attached, and their flows now
    List(list::ListArgs),
    /// Remove what killed processes left: edges of the closed domain, token bucket filters, notes and mounts
    Clean,
    /// Keep laws and routers of a file in the kernel: what a service manager starts
    Run(service::RunArgs),
    /// Put a router's law at a device, and show what it does until Ctrl-C
    Router(router::RouterArgs),
    /// Put a gateway's law at the ends of this host's IPsec tunnels, and show what it does until Ctrl-C
    Gateway(gateway::GatewayArgs),
}

/// Does it.
///
/// # Errors
/// What the machine cannot do, or what is not there.
pub fn kernel(command: &KernelCommand) -> Result<(), Failure> {
    if !matches!(command, KernelCommand::Check(_) | KernelCommand::Build(_)) && !Uid::effective().is_root() {
        return Err(Failure::Invalid(
            "what is in the kernel is root's alone, and you are not root: run it with sudo; `fadelab kernel check` \
             tells everybody more"
                .to_owned(),
        ));
    }
    match command {
        KernelCommand::Check(args) => check::check(args),
        KernelCommand::Build(args) => build::build(args),
        KernelCommand::Load(args) => load::load(args),
        KernelCommand::Unload(args) => unload::unload(args),
        KernelCommand::List(args) => list::list(args),
        KernelCommand::Clean => clean::clean(),
        KernelCommand::Run(args) => service::run(args),
        KernelCommand::Router(args) => router::router(args),
        KernelCommand::Gateway(args) => gateway::gateway(args),
    }
}
