//! All contenders give right results.
#![allow(clippy::unwrap_used)]

use weftline_bench::{Case, Contest, Error, Kind, Plan, Scope, Visitor, workloads};

/// Runs every contender of the chosen cases a few times.
struct Trial {
    plan: Plan,
    cases: usize,
    without_peer: Vec<String>,
}

impl Trial {
    fn of(plan: Plan) -> Self {
        let mut trial = Self {
            plan: plan.clone(),
            cases: 0,
            without_peer: Vec::new(),
        };
        workloads::visit(&plan, &mut trial).unwrap();
        trial
    }
}

impl Visitor for Trial {
    fn wants(&mut self, case: &Case) -> bool {
        self.plan.includes(case)
    }

    fn contest(&mut self, contest: Contest<'_>) -> Result<(), Error> {
        self.cases += 1;
        let id = contest.case.id();
        assert!(contest.case.bytes > 0, "{id}");
        let has = |kind| contest.contenders.iter().any(|c| c.kind == kind);
        assert!(has(Kind::Ours) && has(Kind::Ceiling), "{id}");
        if !has(Kind::Peer) {
            self.without_peer.push(id.clone());
        }
        let mut names: Vec<&str> = contest.contenders.iter().map(|c| c.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{id}: two contenders of one name");
        for mut contender in contest.contenders {
            if let Some((sent, lost)) = contender.residual {
                assert!(lost <= sent, "{id}: {}", contender.name);
            }
            (0..2).for_each(|_| contender.run());
        }
        Ok(())
    }
}

#[test]
fn every_case_of_the_quick_scope_is_right_and_has_a_peer_and_a_ceiling() {
    let trial = Trial::of(Plan::new(Scope::Quick));
    assert!(trial.cases >= 15, "{}", trial.cases);
    // Without ISA-L, no peer offers bare inner loops.
    let others = trial
        .without_peer
        .iter()
        .filter(|id| !id.starts_with("kernel/"));
    let peers = cfg!(feature = "peers");
    assert!(!peers || others.count() == 0, "{:?}", trial.without_peer);
}

#[test]
fn symbols_of_every_size_come_out_right() {
    for size in [64, 256, 8192] {
        let mut plan = Plan::new(Scope::Full);
        plan.filter = [
            "kernel/mul-add/k=16",
            "kernel/dot/k=16",
            "kernel/xor/k=16",
            "kernel/multi/k=64/d=3",
            "window/repair/window=32",
            "window/repair-sparse/window=32",
            "window/repair-gf2/window=32",
            "stream/encode/window=32/repair=33",
            "stream/decode/window=32/repair=33/loss=20",
            "block/encode/k=32/m=7",
            "block/decode/k=32/m=7",
        ]
        .map(|text| format!("{text}/size={size}"))
        .to_vec();
        let cases = plan.filter.len();
        assert_eq!(Trial::of(plan).cases, cases, "size {size}");
    }
}

#[test]
fn a_contender_that_cannot_do_a_block_says_why() {
    struct Reasons(Vec<(String, String)>);

    impl Visitor for Reasons {
        fn wants(&mut self, case: &Case) -> bool {
            case.id() == "block/encode/k=256/m=13/size=64"
        }

        fn contest(&mut self, contest: Contest<'_>) -> Result<(), Error> {
            let skipped = contest.skipped.into_iter();
            self.0.extend(skipped.map(|s| (s.contender, s.reason)));
            Ok(())
        }
    }

    let mut reasons = Reasons(Vec::new());
    workloads::visit(&Plan::new(Scope::Full), &mut reasons).unwrap();
    let who = |name: &str| reasons.0.iter().any(|(who, _)| who == name);
    assert!(who("weftline rs cauchy") && who("weftline rs rfc5510"));
    let peers = cfg!(feature = "peers");
    assert!(!peers || who("isa-l") && who("reed-solomon-erasure"));
    for (who, reason) in &reasons.0 {
        // The reason names the number of shards, or the package to install.
        let tells = ["256", "269", "libisal", "AVX2"];
        let told = tells.iter().any(|part| reason.contains(part));
        assert!(told, "{who}: {reason}");
    }
}
