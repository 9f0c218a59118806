//! Commands of iproute2 in network namespaces.

/// The words of a command of iproute2. `ip -n NAME`, `tc -n NAME` and `ip netns exec NAME` also make mounts of their
/// own, for which `/` must be a mount point; `nsenter` only enters the network namespace, which works in a chroot too.
pub fn words(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let (name, rest) = match words.as_slice() {
        ["ip", "netns", "exec", name, rest @ ..] => (*name, rest.to_vec()),
        [program, "-n", name, rest @ ..] => (*name, [&[*program], rest].concat()),
        _ => return words.into_iter().map(str::to_owned).collect(),
    };
    let mut entered = vec!["nsenter".to_owned(), format!("--net=/run/netns/{name}")];
    entered.extend(rest.into_iter().map(str::to_owned));
    entered
}
