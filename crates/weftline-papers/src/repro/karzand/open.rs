//! Fig. 7: block codes at a constant residual loss against the streaming code, open loop.

use super::pairs::Pair;
use super::points::{between, largest, open_engine, ratio, smallest};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};
use crate::theory::block::for_residual;

/// Residual packet erasure rates.
const RESIDUAL: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The rate up to which, and the residual loss from which on, the paper makes an exception.
const EXCEPT: (f64, f64) = (0.8, 1e-3);

/// Block codes of one residual loss on one channel: exact over the rate, some simulated.
struct Blocks {
    loss: String,
    residual: f64,
    theory: Point,
    simulated: Vec<Point>,
}

impl Blocks {
    fn new(loss: &str, residual: f64, scale: Scale) -> Self {
        let longest = scale.pick(150, 400);
        let slots: u64 = scale.pick(1_000_000, 20_000_000);
        let seed = scale.seed;
        let simulated = scale.pick(&[20][..], &[3, 20, 60]).iter().filter_map(|k| {
            let code = for_residual(loss.parse().ok()?, *k, residual).ok()??;
            let (k, n) = (code.k, code.n);
            let point = Point::lab(&format!(
                "sim block --loss {loss} --k {k} --n {n} --slots {slots} --seed {seed}"
            ));
            Some(point.about_secs(slots as f64 / 1e8))
        });
        Self {
            loss: loss.to_owned(),
            residual,
            theory: Point::lab(&format!(
                "theory block --loss {loss} --residual {residual} --longest {longest}"
            ))
            .about_secs(1.0),
            simulated: simulated.collect(),
        }
    }

    /// The mean delay over the rate, and the block sizes.
    fn exact(&self, values: &Values) -> Result<Vec<(Dot, f64)>, Missing> {
        let codes = values.object(&self.theory)?["codes"]
            .as_array()
            .map_or(0, Vec::len);
        let code = |at: usize| {
            let number = |key| values.number(&self.theory, &format!("codes/{at}/{key}"));
            Ok((
                Dot::new(number("rate")?, number("mean_delay_slots")?),
                number("k")?,
            ))
        };
        (0..codes).map(code).collect()
    }

    /// Simulated delays beside exact ones.
    fn checks(&self, values: &Values) -> Result<(Vec<Dot>, Vec<Check>), Missing> {
        let (mut dots, mut checks) = (Vec::new(), Vec::new());
        for point in &self.simulated {
            let number = |key| values.number(point, key);
            let (k, n) = (number("k")?, number("n")?);
            let dot = Dot {
                x: k / n,
                y: number("mean_delay_slots")?,
                stderr: number("stderr")?,
            };
            dots.push(dot);
            let loss = self.loss.parse().ok();
            let exact = loss
                .and_then(|loss| crate::theory::block::open_block(loss, k as u32, n as u32).ok());
            if let Some(exact) = exact {
                let what = format!(
                    "block code of {k}, n {n}, loss {}, mean delay, slots",
                    self.loss
                );
                let check = Check::of(what).theory(exact.mean_delay_slots);
                checks.push(check.simulated(dot.y, dot.stderr));
            }
        }
        Ok((dots, checks))
    }
}

/// The streaming code on one channel.
struct Stream {
    pairs: Vec<Pair>,
}

impl Stream {
    fn new(loss: &str, few: &[u32], many: &[u32], scale: Scale) -> Self {
        let pair = |l: &u32| Pair::new(1.0 - 1.0 / f64::from(*l), loss, *l, scale);
        Self {
            pairs: scale.pick(few, many).iter().map(pair).collect(),
        }
    }

    fn exact(&self, values: &Values) -> Result<Vec<Dot>, Missing> {
        let dots = self
            .pairs
            .iter()
            .map(|pair| pair.theory(values, "mean_delay_slots"));
        dots.collect()
    }
}

/// A channel with all its curves.
struct Channel {
    name: String,
    stream: Stream,
    blocks: Vec<Blocks>,
}

impl Channel {
    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.stream.pairs.iter().flat_map(Pair::points).collect();
        for blocks in &self.blocks {
            points.push(blocks.theory.clone());
            points.extend(blocks.simulated.iter().cloned());
        }
        points
    }
}

/// Fig. 7.
pub(super) fn open_loop(scale: Scale) -> Figure {
    let iid = [
        (
            "0.05",
            &[2, 3, 5, 6, 8, 10, 14, 18][..],
            &[2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 17, 18, 19][..],
        ),
        ("0.1", &[2, 3, 5, 6, 8, 9], &[2, 3, 4, 5, 6, 7, 8, 9]),
    ]
    .map(|(loss, few, many)| Channel {
        name: format!("e {loss}"),
        stream: Stream::new(loss, few, many, scale),
        blocks: RESIDUAL
            .map(|residual| Blocks::new(loss, residual, scale))
            .into(),
    });
    let bursts = [1.0, 2.0, 4.0].map(|run| {
        let loss = format!("markov:0.1,{run}");
        Channel {
            name: format!("E(L) {run}"),
            stream: Stream::new(&loss, &[2, 3, 5, 8], &[2, 3, 4, 5, 6, 7, 8, 9], scale),
            blocks: vec![Blocks::new(&loss, 1e-3, scale)],
        }
    });
    let engines = [("0.05", [4, 10, 15]), ("0.1", [3, 5, 8])]
        .map(|(loss, ls)| ls.map(|l| (l, open_engine(loss, l, scale))));
    let mut points: Vec<Point> = iid
        .iter()
        .chain(&bursts)
        .flat_map(Channel::points)
        .collect();
    points.extend(
        engines
            .iter()
            .flatten()
            .flat_map(|(_, engine)| engine.points()),
    );
    Figure {
        id: "karzand-7",
        paper: Paper::Karzand,
        title: "open loop: in-order delay over code rate, block codes at constant residual loss",
        shows: "Without feedback, mean in-order delay over the code rate: block codes, one solid line for each \
                residual packet erasure rate (PER), along which the block size grows with the rate, against the \
                streaming code, dotted. (a) independent erasures, e = 0.05 and 0.1; (b) correlated erasures, \
                pi_B = 0.1, mean bursts E(L) of 1 and more. Here: exact values of both, the smallest block for \
                each rate, simulations, and the engine's preset streaming without answers to feedback. The \
                engine has no block code that gives packets up.",
        points,
        show: Box::new(move |values| {
            let (x, y) = ("code rate", "mean in-order delay, slots");
            let (mut pictures, mut apart) = (Vec::new(), Vec::new());
            let mut largest_sizes: Vec<(f64, f64)> = Vec::new();
            let (mut of_interest, mut small, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
            for (index, (channel, engines)) in iid.iter().zip(&engines).enumerate() {
                let stream = channel.stream.exact(values)?;
                let mut lines = vec![Line::new(
                    format!("streaming, {}", channel.name),
                    Source::Theory,
                    4,
                    stream.clone(),
                )];
                for pair in &channel.stream.pairs {
                    let what = format!(
                        "streaming, {}, rate {:.3}, mean delay, slots",
                        channel.name, pair.x
                    );
                    apart.push(pair.check(what, values)?);
                }
                let dots = engines
                    .iter()
                    .map(|(l, engine)| engine.slots(values, 1.0 - 1.0 / f64::from(*l)));
                let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
                lines.push(Line::new("streaming, engine", Source::Engine, 8, dots).apart());
                for (colour, blocks) in [0, 2, 3].into_iter().zip(&channel.blocks) {
                    let exact = blocks.exact(values)?;
                    let up_to = exact.iter().filter(|(dot, _)| dot.x <= EXCEPT.0 + 1e-9);
                    if index == 0 {
                        let most = up_to.map(|(_, k)| *k).fold(0.0, f64::max);
                        largest_sizes.push((blocks.residual, most));
                    }
                    for (dot, k) in &exact {
                        let Some(own) = between(&stream, dot.x) else {
                            continue;
                        };
                        let (ratio, _) = ratio(*dot, own);
                        let excepted = dot.x <= EXCEPT.0 && blocks.residual >= EXCEPT.1;
                        match (excepted, index) {
                            (true, 0) => {
                                small.push((ratio, 0.0));
                                sizes.push((*k, 0.0));
                            }
                            (true, _) => {}
                            (false, _) if blocks.residual <= EXCEPT.1 => {
                                of_interest.push((
                                    ratio,
                                    dot.x,
                                    *k,
                                    blocks.residual,
                                    channel.name.clone(),
                                ));
                            }
                            (false, _) => {}
                        }
                    }
                    let exact = exact.into_iter().map(|(dot, _)| dot).collect();
                    let name = format!("blocks, PER {:e}", blocks.residual);
                    lines.push(Line::new(name.clone(), Source::Theory, colour, exact));
                    let (dots, checks) = blocks.checks(values)?;
                    apart.extend(checks);
                    lines.push(
                        Line::new(name + ", simulated", Source::Simulation, colour, dots).apart(),
                    );
                }
                let caption = format!("(a) Independent erasures, {}.", channel.name);
                let plot = Plot::new(caption, x, y).with(lines).log_y();
                pictures.push(plot.x_range(0.3, 1.0).into());
            }
            let mut lines = Vec::new();
            let mut growth: Vec<(Vec<Dot>, Vec<Dot>)> = Vec::new();
            for (channel, (dotted, solid)) in bursts.iter().zip([(4, 0), (10, 2), (1, 3)]) {
                let stream = channel.stream.exact(values)?;
                for pair in &channel.stream.pairs {
                    let what = format!(
                        "streaming, {}, rate {:.3}, mean delay, slots",
                        channel.name, pair.x
                    );
                    apart.push(pair.check(what, values)?);
                }
                let blocks = &channel.blocks[0];
                let exact: Vec<Dot> = blocks
                    .exact(values)?
                    .into_iter()
                    .map(|(dot, _)| dot)
                    .collect();
                let (dots, checks) = blocks.checks(values)?;
                apart.extend(checks);
                growth.push((exact.clone(), stream.clone()));
                let name = &channel.name;
                lines.extend([
                    Line::new(format!("streaming, {name}"), Source::Theory, dotted, stream),
                    Line::new(format!("blocks, {name}"), Source::Theory, solid, exact),
                    Line::new(
                        format!("blocks, {name}, simulated"),
                        Source::Simulation,
                        solid,
                        dots,
                    )
                    .apart(),
                ]);
            }
            let caption = "(b) Correlated erasures, pi_B = 0.1; blocks at a residual loss of 1e-3.";
            pictures.push(
                Plot::new(caption, x, y)
                    .with(lines)
                    .log_y()
                    .x_range(0.3, 1.0)
                    .into(),
            );
            // How much more the blocks' delay grows than the streaming code's, at each rate that all have:
            // the rate, and the ratio of the factors, and that of the slots added.
            let grows = growth.first().zip(growth.last()).map(|(one, four)| {
                let at = |dot: &Dot| {
                    let blocks = between(&one.0, dot.x)?.y;
                    let (stream, later) = (between(&one.1, dot.x)?.y, between(&four.1, dot.x)?.y);
                    let factors = (dot.y / blocks) / (later / stream);
                    Some((dot.x, factors, (dot.y - blocks) / (later - stream)))
                };
                four.0.iter().filter_map(at).collect::<Vec<_>>()
            });
            let grows = grows.unwrap_or_default();
            let above = grows.iter().filter(|one| one.1 < 1.0).map(|one| one.0);
            let above = above.fold(f64::INFINITY, f64::min);
            let added = grows.iter().map(|one| one.2).fold(f64::INFINITY, f64::min);
            let most = grows.iter().map(|one| one.1).fold(0.0, f64::max);
            let worst = of_interest.iter().min_by(|a, b| a.0.total_cmp(&b.0));
            let mut reached = Vec::new();
            for channel in &iid {
                for blocks in channel
                    .blocks
                    .iter()
                    .filter(|blocks| blocks.residual <= EXCEPT.1)
                {
                    let under = of_interest.iter().filter(|one| {
                        one.0 < 10.0 && one.3 == blocks.residual && one.4 == channel.name
                    });
                    let most = under.map(|one| one.1).fold(0.0, f64::max);
                    reached.push(format!(
                        "{most:.3} ({}, PER {:e})",
                        channel.name, blocks.residual
                    ));
                }
            }
            let below = of_interest.iter().filter(|one| one.0 < 10.0).count();
            let mut checks = Vec::new();
            if let Some((ratio, rate, k, residual, name)) = worst {
                checks.push(
                    Check::of(format!(
                        "(a) blocks' delay for streaming's at the same rate, PER of 1e-3 and less, least: {name}, \
                         PER {residual:e}, rate {rate:.3}, k {k}"
                    ))
                    .claims("an order of magnitude or more in the cases of interest", Rule::AtLeast(10.0))
                    .theory(*ratio)
                    .because(format!(
                        "{below} of {} exact points (both erasure rates, PER 1e-3 and 1e-4, every rate but those \
                         that the paper excepts) have less than ten times the streaming code's delay. Ten times and \
                         more where the rate is above: {}",
                        of_interest.len(),
                        reached.join("; ")
                    )),
                );
            }
            let told: Vec<String> = largest_sizes
                .iter()
                .map(|(residual, k)| format!("{k} at PER {residual:e}"))
                .collect();
            let one = |what: &str, words: &str, rule: Rule, value: Option<(f64, f64)>| {
                let value = value.unwrap_or((f64::NAN, 0.0)).0;
                Check::of(what).claims(words, rule).theory(value)
            };
            checks.extend([
                one(
                    "(a) the same at e 0.05, rate 0.8 and less, PER of 1e-3 and more: least",
                    "no order of magnitude",
                    Rule::AtMost(10.0),
                    smallest(small),
                ),
                one("(a) largest block there, packets", "1 to 3 packets", Rule::Between(1.0, 3.0), largest(sizes))
                    .because(format!("the largest of the smallest blocks at rates up to 0.8, exactly: {}", told.join(", "))),
                one(
                    "(b) growth of blocks' delay from E(L) 1 to 4 for streaming's, least over the rates",
                    "blocks much more sensitive",
                    Rule::AtLeast(1.0),
                    smallest(grows.iter().map(|one| (one.1, 0.0))),
                )
                .because(format!(
                    "as a factor, at a residual loss of 1e-3: the streaming code's delay grows alike at every rate, the \
                     blocks' up to {most:.1} times as much at low rates, and less from a rate of {above:.2} on, where \
                     blocks are long without bursts, too. The other reading, slots added by the bursts: those of the \
                     blocks are at least {added:.1} times those of the streaming code at every rate"
                )),
            ]);
            checks.extend(Check::worst(apart));
            Ok(Shown {
                pictures,
                checks,
                notes: vec![
                    "The paper's residual loss rates are not known but for 1e-3. A residual loss counts \
                     source packets that are never delivered."
                        .to_owned(),
                ],
            })
        }),
    }
}
