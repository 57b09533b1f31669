extension QueuePage {
    /// The style of the page: both themes from one set of variables, and paper. The contrast of text is at least 4.5 to
    /// 1, that of marks 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11). Bars and bands differ by shape, too.
    static let style: HTML = """
        :root{--bg:#f6f6f4;--card:#ffffff;--ink:#1b1d20;--soft:#53585f;--line:#d5d8dc;--code:#eef0f2;--ok:#1b7a49;\
        --late:#8a5d00;--bad:#b42318;--held:#5b3cc4;--none:#6b727b;--grid:#e4e6e9;--b-ok:#17683e;--b-warn:#ffc94d;\
        --b-bad:#a81f14;--b-held:#5335b4;--b-idle:#4b525b;--on:#ffffff;--on-warn:#241900}\
        @media(prefers-color-scheme:dark){:root{--bg:#101214;--card:#181b1e;--ink:#e8eaed;--soft:#a9b0b9;--line:#343a41;\
        --code:#23272c;--ok:#4cc38a;--late:#e2a336;--bad:#ff8a7c;--held:#b8a5f5;--none:#8d949d;--grid:#272c31;\
        --b-ok:#14603b;--b-warn:#d99b12;--b-bad:#9a1c12;--b-held:#4a2fa6;--b-idle:#434a53;--on:#ffffff;\
        --on-warn:#1c1300}}\
        *{box-sizing:border-box}html{font-size:clamp(1rem,.75rem + .4vw,1.5rem);-webkit-text-size-adjust:100%}\
        body{margin:0;background:var(--bg);color:var(--ink);font:1rem/1.45 system-ui,sans-serif;\
        font-variant-numeric:tabular-nums;overflow-wrap:break-word}\
        header,main,footer{padding-inline:max(1rem,calc(50vw - 38rem))}\
        .band{padding-block:1rem 1.1rem;background:var(--k);color:var(--on)}.band.ok{--k:var(--b-ok)}\
        .band.warn{--k:var(--b-warn);--on:var(--on-warn)}.band.bad{--k:var(--b-bad)}.band.held{--k:var(--b-held)}\
        .band.idle{--k:var(--b-idle)}.band p{margin:0;text-wrap:pretty}\
        .band h1{font-size:clamp(1.45rem,1.1rem + 1.7vw,2.4rem);line-height:1.18;margin:.3rem 0 .45rem;\
        padding-left:1.5em;position:relative;text-wrap:balance}\
        .band h1 span{position:absolute;left:0;top:-.02em;width:1.2em;height:1.2em;line-height:1.16em;text-align:center;\
        border:.09em solid;border-radius:50%;font-size:.9em}\
        .facts{display:flex;flex-wrap:wrap;gap:1px;margin:1rem 0 1.4rem;background:var(--line);\
        border:1px solid var(--line);border-radius:8px;overflow:hidden}\
        .facts div{flex:1 1 8.2rem;background:var(--card);padding:.55rem .8rem .6rem;box-shadow:0 0 0 1px var(--line)}\
        dt,.key,thead th,th span,.soft,.l,.acts,footer{color:var(--soft)}.facts dt,.facts span{font-size:.82rem}\
        .facts dd{margin:0}.facts b{display:block;font-size:1.2rem;line-height:1.3;white-space:nowrap}\
        .facts span,.facts dt{color:var(--soft);display:block}h2{font-size:1.15rem;margin:1.6rem 0 .5rem}\
        h3{font-size:.95rem;margin:1.1rem 0 .3rem}tr,.todo{--k:var(--soft)}.ok{--k:var(--ok)}.warn{--k:var(--late)}\
        .bad{--k:var(--bad)}.held{--k:var(--held)}.idle{--k:var(--none)}.k{color:var(--k)}\
        .band .k{color:inherit;width:.74em!important;height:.74em!important;margin:0!important;\
        vertical-align:.02em!important}\
        .todo,tbody.open{background:var(--card);border-left:6px solid var(--k)}\
        .todo{border-radius:0 8px 8px 0;padding:.8rem 1rem 1rem;margin:0 0 1rem;border-block:1px solid var(--line);\
        border-right:1px solid var(--line)}\
        .todo h2{margin:0 0 .5rem;padding-left:1.45em;position:relative}\
        .todo h2 .k{position:absolute;left:0;top:.26em;margin:0}.why{margin:0;display:grid;gap:.3rem}\
        .why div{display:grid;grid-template-columns:6.6rem 1fr;gap:0 .6rem}\
        .why dd{margin:0;min-width:0;max-width:60rem;overflow-wrap:anywhere}q{quotes:"“" "”"}\
        pre{margin:.25rem 0 .5rem;background:var(--code);border:1px solid var(--line);border-radius:6px;\
        padding:.5rem .7rem;white-space:normal}\
        code{font:.86rem/1.55 ui-monospace,"DejaVu Sans Mono",monospace;user-select:all;-webkit-user-select:all;\
        cursor:copy;overflow-wrap:anywhere}\
        pre:focus{outline:3px solid var(--held)}table{border-collapse:collapse;width:100%}\
        thead th{font-size:.82rem;font-weight:600;vertical-align:bottom}\
        th,td{text-align:left;padding:.45rem .6rem;vertical-align:middle;border-bottom:1px solid var(--line);\
        font-weight:400}\
        .dest thead th{border-bottom:2px solid var(--line)}.dest .n{text-align:right;white-space:nowrap}\
        .z{color:var(--soft)}tbody th{padding-left:2.1em;position:relative}\
        tbody th .k{position:absolute;left:.6em;top:.7em;margin:0}.dest th[scope=row]{width:30%;overflow-wrap:anywhere}\
        .dest th span{font-size:.88rem;display:block}.m th .k{top:.42em}.dest .g th .k{top:.95em}\
        .dest tr:not(.ok):not(.idle) th span{color:var(--k);font-weight:600}.dest .s{width:44%}\
        .dest .d td{padding:.1rem .6rem 1rem 2.1rem}tr:has(+.d)>*{border-bottom:0}.dest .g th{padding-top:.7rem}\
        .m th,.m td{padding-block:.15rem}svg{display:block;width:100%;height:2.4rem;overflow:visible}\
        .m svg{height:1.6rem}svg.k{display:inline-block;width:1em;height:1em;vertical-align:-.12em;margin-right:.25em}\
        path.i{stroke:currentColor;stroke-width:2.4;stroke-linecap:round}path{fill:none;stroke-width:11}\
        path.i{stroke-width:2.4}path.ok{stroke:var(--ok)}path.late{stroke:var(--late);stroke-dasharray:4 4}\
        path.bad{stroke:var(--bad)}path.down{fill:var(--bad)}path.held{stroke:var(--held);stroke-width:5}\
        path.none{fill:url(#n);stroke:var(--none);stroke-width:1.5;stroke-dasharray:5 4}\
        path.q{stroke:var(--none);stroke-width:1.6}path.rail{fill:var(--line)}path.fill{fill:var(--ok)}\
        path.t{fill:transparent}.grid{stroke:var(--grid);stroke-width:2}.hatch{stroke:var(--none);stroke-width:1.6}\
        .bar{height:.7rem;margin:.2rem 0 .7rem}.dest .ax{display:block;position:relative;height:1.1em;padding:0}\
        .ax i{position:absolute;transform:translateX(-50%);font-style:normal;font-weight:400}.ax u{text-decoration:none}\
        .ax i.now{right:0;transform:none;font-weight:600}.ax .v{display:none!important}\
        .dest thead .v{display:inline;padding:0;font-size:1em}\
        .key{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:.6rem 0 0;padding:0;font-size:.82rem}\
        .key li{display:flex;align-items:center;gap:.4rem}.key svg{width:30px;height:26px;flex:none}\
        .inc td,.inc th{vertical-align:top}.inc th[scope=row]{font-weight:600;width:24%}.inc td:nth-child(2){width:20%}\
        .inc td:last-child{width:22%}.l{display:block;font-size:.88rem}.on .l{color:var(--k);font-weight:600}\
        .acts{list-style:none;margin:0;padding:0;font-size:.92rem}.acts b{font-weight:400;margin-right:.8em}\
        footer{margin-top:2rem;padding-block:1rem 2rem;border-top:1px solid var(--line);font-size:.85rem}\
        footer p{margin:.2rem 0}@media(max-width:66rem){.facts div{flex-basis:30%}.dest .s{width:34%}\
        .dest th[scope=row]{width:36%}.dest .n{padding-inline:.3rem .6rem}\
        .dest thead .n .v,.ax i u,.ax i.now{display:none!important}}\
        @media screen and (max-width:46rem){.facts div{flex:1 1 42%}.facts b{font-size:1.08rem}\
        .why div{grid-template-columns:1fr;gap:0}.why{gap:.45rem}.why dt{font-size:.82rem}\
        table,tbody,tr,thead{display:block}\
        .dest tr{display:flex;flex-wrap:wrap;align-items:baseline;padding:.5rem 0;border-bottom:1px solid var(--line);\
        gap:0 .6rem}\
        .dest th,.dest td{border:0!important;padding:0!important}.dest tbody th{padding-left:1.5em!important}\
        tbody th .k,.dest .g th .k,.m th .k{left:0!important;top:.26em!important}\
        .dest th[scope=row],.dest td.s,.dest .d td,.dest .g th{width:100%;flex:none}.dest td.n{font-size:.84rem}\
        .dest th span{display:inline-block}.dest td.n::after{content:" waiting"}\
        .dest td.n:nth-child(4)::after{content:none}.dest td.n:nth-child(4)::before{content:"oldest "}\
        .dest td.n:nth-child(5)::after{content:" delivered"}.dest td.z{display:none}.ax i.now{display:block!important}\
        .dest thead th{display:none}.dest thead th.s{display:block;width:100%;font-size:.75rem}\
        .dest thead tr{padding:.2rem 0;border:0}\
        .todo,tbody.open{margin:0 -1rem .9rem;padding:.4rem 1rem .9rem;border:0;border-block:1px solid var(--line);\
        border-radius:0;box-shadow:inset 6px 0 var(--k)}\
        tbody.open .d{padding:.3rem 0 .2rem}tbody.open tr{border:0}\
        .dest .m{flex-wrap:nowrap;padding:.1rem 0;align-items:center;font-size:.92rem}\
        .dest .m th[scope=row]{width:auto;min-width:34%;flex:0 0 auto}.dest .m td.s{width:auto;flex:1 1 0}\
        .dest .m td.n{flex:none;min-width:1.6em;display:block}.dest .m td.n::after{content:none}\
        .dest .m td.n~td.n{display:none}.dest .m.long{flex-wrap:wrap}.dest .m.long th[scope=row]{flex:1 0 100%}\
        .inc thead{display:none}.inc tr{padding:.55rem 0;border-bottom:1px solid var(--line)}\
        .inc th,.inc td{display:block;border:0;padding:0 0 0 1.5em;width:auto!important}\
        .inc th[scope=row]{padding-left:1.5em}.l{display:inline-block;margin-left:.45em}}\
        @media print{:root{--bg:#f6f6f4;--card:#ffffff;--ink:#1b1d20;--soft:#53585f;--line:#d5d8dc;--code:#eef0f2;\
        --ok:#1b7a49;--late:#8a5d00;--bad:#b42318;--held:#5b3cc4;--none:#6b727b;--grid:#e4e6e9;--b-ok:#17683e;\
        --b-warn:#ffc94d;--b-bad:#a81f14;--b-held:#5335b4;--b-idle:#4b525b;--on:#ffffff;--on-warn:#241900;--bg:#fff;\
        --card:#fff}\
        @page{margin:14mm}html{font-size:10pt}header,main,footer{padding-inline:0}\
        .band{color:#000!important;background:none!important;border:2.5pt solid #000;padding:.6rem .9rem}\
        .todo,tbody,.inc tr{break-inside:avoid}tbody:not(.open){break-inside:auto}tr{break-inside:avoid}\
        h2{break-after:avoid}svg,pre{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\
        @media(forced-colors:active){.band{border:3px solid}svg{forced-color-adjust:none;background:#fff}}
        """
}
