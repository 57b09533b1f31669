extension QueuePage {
    /// The style of the page: both themes from one set of variables. The contrast of text is at least 4.5 to 1, that of
    /// marks 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11).
    static let style: HTML = """

        :root { --bg: #fbfbfa; --card: #fff; --ink: #1c1d1f; --soft: #575c63; --line: #d9dce0; --ok: #1f7a4d; --quiet: #868d96; \
        --slow: #8a5d00; --down: #b42318; --held: #6941c6; --paused: #475467; --code: #f2f3f5 }
        @media (prefers-color-scheme: dark) { :root { --bg: #111315; --card: #191c1f; --ink: #e9ebee; --soft: #a9afb8; \
        --line: #343a40; --ok: #4cc38a; --quiet: #767e88; --slow: #e2a336; --down: #ff8a7c; --held: #b8a5f5; \
        --paused: #b4bcc8; --code: #22262b } }
        * { box-sizing: border-box }
        body { margin: 0 auto; max-width: 90rem; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--bg); \
        color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
        header p { margin: 0; color: var(--soft) }
        h1 { font-size: clamp(1.4rem, 3.5vw, 2.4rem); line-height: 1.15; margin: .2rem 0 .6rem; text-wrap: balance }
        h1.bad { color: var(--down) } h1.well { color: var(--ok) }
        h2 { font-size: 1.15rem; margin: 0 } h3 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 1rem 0 .3rem }
        .sum { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin: 0 0 1.6rem; padding: 0; list-style: none }
        .sum b { font-size: 1.15rem }
        .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; margin: 1rem 0 }
        .card { background: var(--card); border: 1px solid var(--line); border-top: 4px solid var(--k); border-radius: 8px; \
        padding: 1rem 1.1rem 1.2rem; min-width: 0 }
        .card.ok { --k: var(--ok) } .card.down { --k: var(--down) } .card.held { --k: var(--held) } \
        .card.paused { --k: var(--paused) }
        .mark { color: var(--k); font-weight: 700 } .state { margin: .1rem 0; font-weight: 600; color: var(--k) }
        .card.ok .state { color: inherit; font-weight: 400 } .says { margin: .3rem 0 }
        .small, .axis { color: var(--soft); font-size: .85rem; margin: .2rem 0 0 }
        .strip, .ages { width: 100%; height: 32px; display: block } .ages { height: 10px }
        .axis { display: flex; justify-content: space-between; font-size: .75rem }
        rect.ok { fill: var(--ok) } rect.quiet { fill: var(--quiet) } rect.slow { fill: var(--slow) } \
        rect.down { fill: var(--down) } rect.held { fill: var(--held) }
        .a0 { fill: var(--quiet) } .a1 { fill: var(--slow) } .a2 { fill: var(--down) }
        pre, code { background: var(--code); font: .85rem/1.5 ui-monospace, monospace }
        pre { border-radius: 6px; padding: .6rem .8rem; margin: .3rem 0 0; white-space: pre-wrap }
        pre:focus-visible { outline: 2px solid var(--k) }
        table { border-collapse: collapse; width: 100% }
        td, th { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
        thead th { color: var(--soft); font-weight: 600; font-size: .85rem } tbody th { font-weight: 400 }
        .t { white-space: nowrap; color: var(--soft) }
        .e-down, .e-failed, .e-quarantined { color: var(--down) } .e-held { color: var(--held) } .e-up, .e-released { color: var(--ok) }
        section { margin-top: 2rem } .card { margin-top: 0 }
        footer { margin-top: 2rem; color: var(--soft); font-size: .85rem }
        @media print { body { max-width: none } .card, tr { break-inside: avoid } }

        """
}
