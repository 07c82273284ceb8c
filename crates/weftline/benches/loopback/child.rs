//! What a child process does.

use std::time::Duration;

use anyhow::Result;

use crate::engine::Kind;
use crate::process::say;
use crate::side::{GRACE, Role, Task, end_with_the_parent};
use crate::{bare, pair, weft};

/// Plays the role.
pub(crate) fn run((role, task): (Role, Task)) -> Result<()> {
    end_with_the_parent(task.limit + GRACE);
    if let Role::Pair = role {
        return say(&pair::pair(&task)?);
    }
    let name = match role {
        Role::Client { .. } => "client",
        _ => "server",
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name(name)
        .enable_all()
        .build()?;
    let end = async move {
        match (role, task.engine.kind) {
            (Role::Client { addr, key }, Kind::Weftline { .. }) => {
                weft::client(&task, addr, &key).await
            }
            (Role::Client { addr, key }, _) => bare::client(&task, addr, &key).await,
            (_, Kind::Weftline { .. }) => weft::server(&task).await,
            (_, _) => bare::server(&task).await,
        }
    };
    // On a worker: the main thread would be woken anew for each piece of the file.
    let ended = runtime.block_on(runtime.spawn(end))??;
    say(&ended)?;
    // A read of the file may still be going on where the limit ended a run.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(())
}
