"""Simulators and formulas: the numbers of the laboratory, as numbers and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from weftline import ModelError, sim, theory


def test_theory_and_simulation_of_the_streaming_code_agree() -> None:
    for loss in ("0.1", "markov:0.1,2"):
        exact, run = theory.Streaming(loss, 5), sim.streaming(loss, 5, slots=4_000_000)
        assert abs(run.mean_delay_slots - exact.mean_delay) < 4 * run.stderr
        assert exact.mean_delay <= exact.delay_bound
        assert run.delay_percentiles.shape == (101,) and run.delay_percentiles.dtype == np.uint64
        assert run.delay_percentiles[50] == run.delay_slots.p50
        busy = exact.busy_time(len(run.busy_time))
        assert busy.dtype == np.float64
        assert np.abs(busy[:5] - run.busy_time[:5]).max() < 0.01
    exact = theory.Streaming("0.05", 10)
    # The reference page's numbers.
    assert exact.mean_delay == pytest.approx(5.5757, abs=0.05)
    delays = exact.delays(4000)
    assert delays.sum() == pytest.approx(1, abs=1e-6)
    assert delays[0] == pytest.approx(exact.undelayed)
    quantile = exact.delay_quantile(0.99)
    assert quantile is not None and delays[: quantile + 1].sum() >= 0.99 > delays[:quantile].sum()


def test_the_same_seed_gives_the_same_result_on_any_number_of_threads() -> None:
    one, two = (sim.arq("0.1", 50, slots=300_000, seed=3, threads=threads) for threads in (1, 2))
    assert one.mean_delay_slots == two.mean_delay_slots and one.packets == two.packets
    assert (one.delay_percentiles == two.delay_percentiles).all()
    assert sim.arq("0.1", 50, slots=300_000, seed=4).packets != one.packets


def test_the_real_code_is_nearly_as_good_as_the_ideal_one() -> None:
    ideal = sim.streaming("0.05", 10, slots=200_000)
    real = sim.streaming("0.05", 10, slots=200_000, code="real", rtt=60)
    assert real.mean_delay_slots == pytest.approx(ideal.mean_delay_slots, rel=0.3)


def test_each_model_runs() -> None:
    block = sim.block("0.1", 32, 8, slots=200_000, bin=10)
    exact = theory.block("0.1", 32, 40)
    assert block.residual_loss == pytest.approx(exact.residual_loss, rel=0.3)
    assert block.mean_delay_slots == pytest.approx(exact.mean_delay_slots, rel=0.1)
    assert sum(share.mean for share in block.histogram) == pytest.approx(1)
    closed = sim.block("0.1", 32, 8, rtt=100, slots=200_000)
    assert closed.residual_loss == 0 and closed.extra > 0
    assert sim.answered("0.1", 0.15, 125, slots=200_000).effective_rate < 0.9
    assert sim.rest(runs=10).duration_s.mean > 2331 * 0.008
    message = sim.udp_rc("0.02", 100, trials=2000)
    assert message.decode_probability > 0.99 and len(message.decode_probability_by_excess) == 11
    cell = theory.Cell(fer=0.1)
    blocks = sim.rlc_block(cell, blocks=500)
    assert blocks.throughput_mbit < blocks.limit_mbit


def test_the_engine_over_a_link() -> None:
    link = "rate=25mbit delay=30ms queue=60ms loss=iid:5%"
    coded = sim.engine(link=link, duration=5, distribution=True, within=0.1)
    again = sim.engine(["preset=arq"], link=link, duration=5)
    assert coded == sim.engine(link=link, duration=5, distribution=True, within=0.1)
    assert coded.p99 is not None and again.p99 is not None and coded.p99 < again.p99
    assert coded.got == coded.sent > 0 and coded.on_time is not None and coded.on_time > 0.9
    assert coded.cdf is not None and coded.cdf[-1] == (1.0, coded.max)
    assert coded.paths == []
    two = sim.engine(link="rate=10mbit delay=20ms", more_paths=[("rate=10mbit delay=30ms", None)], app="bulk", duration=3)
    assert len(two.paths) == 2 and sum(path.share for path in two.paths) == pytest.approx(1)


def test_a_crowd_shares_a_bottleneck() -> None:
    link = "rate=10mbit delay=10ms queue=100ms"
    crowd = sim.crowd(flows=2, link=link, duration=20)
    assert crowd == sim.crowd(flows=2, link=link, duration=20)
    assert len(crowd.flows) == 2 and crowd.jain > 0.9
    assert crowd.utilisation is not None and 0.8 < crowd.utilisation <= 1.02
    assert sum(flow.last_mbit for flow in crowd.flows) == pytest.approx(crowd.goodput_mbit, rel=0.1)
    assert len(crowd.jain_windows) == len(crowd.flows[0].windows_mbit) == 20
    mixed = sim.crowd(
        ["preset=arq"], link=link, flows=2, spread=0.1, leave=5, after=1, also=["cbr:1mbit,1200"], cubic=1, bbr=1, duration=10
    )
    assert [flow.sender for flow in mixed.flows] == ["model of CUBIC", "model of BBR", *["weftline"] * 3]
    assert [flow.leave_s for flow in mixed.flows] == [None] * 4 + [5]
    assert mixed.flows[4].rtt_ms - mixed.flows[3].rtt_ms == pytest.approx(100)
    delay = mixed.flows[2].delay
    assert delay is not None and delay.p50 is not None and delay.p50 > 10
    assert mixed.flows[3].delay is None


def test_codes_for_one_way_flows() -> None:
    window, block, ideal = (
        sim.fecframe(code, dw=38, loss="iid:20%", symbols=5000)
        for code in (sim.FecframeWindow(ew=19), sim.FecframeBlock(38), sim.FecframeBlock(38, ideal=True))
    )
    assert (window.code, block.code, ideal.code) == ("RLC ew 19 ls 76", "RS k 38", "ideal blocks k 38")
    # What the paper is about.
    assert window.latency < block.latency and window.residual_loss < block.residual_loss
    assert (block.histogram == ideal.histogram).all() and block.on_time == ideal.on_time
    for found in (window, block):
        assert found.decoding_window == 38 and found.lost == pytest.approx(0.2, abs=0.02)
        assert found.histogram.dtype == found.recovered_after.dtype == np.uint64
        assert found.histogram.sum() == round(found.on_time * 10_000)
        assert [session.seed for session in found.sessions] == [1, 2]
        assert sum(int(session.histogram.sum()) for session in found.sessions) == found.histogram.sum()
        assert found.latency_quantiles[-1] == len(found.histogram) - 1 <= 38
    sparse = sim.FecframeWindow(ew=8, ls=60, field_bits=1, density=3, discarding=True)
    assert sim.fecframe(sparse, symbols=200, runs=1).code == "RLC GF(2) ew 8 ls 60 DT 3 discarding"
    best = sim.fecframe_recommend(0.1, 4_000_000, "iid:1%", residual=0.002, symbol_size=1250, symbols=20_000)
    assert best.decoding_window == 40 and best.enough and best.left.residual_loss <= 0.002
    assert [tried.encoding_window for tried in best.windows] == [10, 20, 30, 40]


def test_a_link_decides_the_fate_of_packets() -> None:
    text = "rate=10mbit delay=30ms loss=iid:10%"
    times = np.arange(20_000) / 1000
    arrivals = sim.Link(text, 7).send_all(times, 1250)
    lost = np.isnan(arrivals)
    assert lost.mean() == pytest.approx(0.1, abs=0.01)
    assert (arrivals - times)[~lost] == pytest.approx(0.031, abs=1e-9)
    one_by_one = sim.Link(text, 7)
    assert [one_by_one.send(float(time), 1250) is None for time in times[:100]] == list(lost[:100])
    full = sim.Link("rate=1mbit queue=10ms", 1)
    full.send_all(np.zeros(100), 1250)
    assert full.queue_drops == 98 and full.loss_rate == 0


def test_formulas_know_their_papers() -> None:
    code = theory.Rlnc(8, 64)
    assert code.decode_probability(63) == 0 < code.decode_probability(64) < code.decode_probability(65)
    assert code.mean_receptions == pytest.approx(64 + code.excess_packets)
    assert code.vector_header > code.seed_header and code.crossover < 64
    cell = theory.Cell(stations=2)
    saturation = theory.bianchi(cell)
    assert 0 < saturation.collision_probability < 1 and 4 < saturation.throughput_mbit < 7
    assert theory.goodput(theory.Cell(), code, 41) < theory.bianchi(theory.Cell()).throughput_mbit
    found = theory.block_for_residual("0.05", 32, 1e-4)
    assert found is not None and found.residual_loss <= 1e-4 < theory.block("0.05", 32, found.n - 1).residual_loss
    rates = theory.blocks_for_residual("0.05", 1e-3, 50)
    assert rates and all(each.residual_loss <= 1e-3 for each in rates)
    sizes = theory.fecframe_sizes(0.24, 2_000_000, 1024, "2/3")
    assert sizes.encoding_window == sizes.decoding_window // 2
    cdf = theory.fecframe_block_latency_cdf(20, 0.1)
    assert (np.diff(cdf) >= 0).all() and cdf[-1] == pytest.approx(1)
    assert theory.fecframe_block_latency(20, 0.1) > 0
    assert theory.fecframe_block_residual(20, 10, 0.1) < theory.fecframe_block_residual(20, 5, 0.1)
    assert theory.rest_redundancy(0.2) == pytest.approx(0.25) and theory.rest_spacing(0.25) == 4


def test_what_has_no_result_is_refused_with_the_reason() -> None:
    for wrong, text in (
        (lambda: theory.Streaming("0.2", 10), "repair|loss|lost"),
        (lambda: theory.Streaming("luck", 10), "luck"),
        (lambda: theory.Streaming("markov:0.1,2", 5).delays(5), "independent"),
        (lambda: theory.Streaming("0.1", 5).busy_time(0), "number of values"),
        (lambda: theory.Rlnc(9, 64), "1 to 8"),
        (lambda: sim.streaming("0.1", 5, slots=0), "slots"),
        (lambda: sim.arq("0.1", 0), "RTT"),
        (lambda: sim.arq("0.1", 5, threads=0), "threads"),
        (lambda: sim.engine(["preset=luck"]), "luck"),
        (lambda: sim.engine(link="rate=luck"), "luck"),
        (lambda: sim.engine(app="luck"), "luck"),
        (lambda: sim.engine(duration=-1), "duration"),
        (lambda: sim.engine(["preset=block"], more_paths=[("perfect", None)]), "path"),
        (lambda: sim.crowd(["preset=luck"]), "luck"),
        (lambda: sim.crowd(link="rate=luck"), "luck"),
        (lambda: sim.crowd(also=["luck"]), "luck"),
        (lambda: sim.crowd(flows=257), "flows is 257: it must be 0 to 256"),
        (lambda: sim.crowd(flows=0), "no flows"),
        (lambda: sim.crowd(paths=0), "paths"),
        (lambda: sim.crowd(["preset=block"], paths=2), "path"),
        (lambda: sim.crowd(join=-1), "join"),
        (lambda: sim.fecframe(sim.FecframeBlock(200)), "block"),
        (lambda: sim.fecframe(sim.FecframeWindow(density=16)), "density"),
        (lambda: sim.fecframe(sim.FecframeWindow(field_bits=2)), "field_bits"),  # type: ignore[arg-type]
        (lambda: sim.fecframe(dw=1 << 31), "dw"),
        (lambda: sim.fecframe(dw=1 << 16), "encoding window"),
        (lambda: sim.fecframe(loss="luck"), "luck"),
        (lambda: sim.fecframe(code_rate="3/2"), "3/2"),
        (lambda: sim.fecframe(symbols=1), "symbols"),
        (lambda: sim.fecframe(runs=0), "runs"),
        (lambda: sim.fecframe_recommend(0.001, 1000, "iid:1%"), "symbols"),
        (lambda: sim.fecframe_recommend(1, 1_000_000, "iid:1%", residual=2), "residual"),
        (lambda: sim.Link("luck"), "luck"),
        (lambda: sim.Link("perfect").send(-1, 100), "now"),
    ):
        with pytest.raises(ModelError, match=text):
            wrong()
