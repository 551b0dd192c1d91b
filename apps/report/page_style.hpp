#pragma once

namespace pacewise {

/// The look of every page. Colours are variables: s1 to s3 are the series of charts; paper is always light.
inline constexpr char kPageStyle[] = R"(
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--paper:#fff;--line:#d9dee5;--grid:#eceff3;--band:#f3f5f8;
--1:#1f6fd1;--2:#c2571a;--3:#2f8548}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--paper:#14181e;--line:#3a4451;
--grid:#262d37;--band:#1c222b;--1:#6fb0ff;--2:#f0995c;--3:#7fcf97}}
*{box-sizing:border-box}[hidden]{display:none}
body{margin:0 auto;padding:1.2rem 1rem 3rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);overflow-wrap:break-word}
h1{font-size:1.5rem;margin:.4rem 0 .8rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.4rem 0;max-width:46rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6rem 0}
th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:.2rem;white-space:pre}
.dense{font-size:.85rem}.dense th,.dense td{padding:.2rem .3rem;min-width:1.9em}.dense .zero{color:var(--soft);opacity:.5}
th{color:var(--soft);font-weight:600;vertical-align:bottom}
th:last-child{padding-right:1rem}
.pictures{display:flex;flex-wrap:wrap;gap:1rem;margin:.8rem 0}
figure{margin:0;max-width:100%}figcaption,.caption{color:var(--soft);font-size:.85rem;max-width:46rem}
img{display:block;max-width:100%;height:auto;image-rendering:pixelated;border:1px solid var(--line);margin:.25rem 0}
.frames{margin:.8rem 0}.slide{display:none}.live .slide{display:flex;align-items:center;gap:.6rem;margin:.3rem 0}
.slide input{flex:1;min-width:6rem;max-width:30rem;accent-color:var(--1);height:1.6rem;margin:0}
.chart{margin:.6rem 0}svg{display:block;width:100%;height:auto;max-width:46rem;overflow:visible}
svg text{fill:var(--soft);font:12px system-ui,sans-serif}
.axis{stroke:var(--soft);fill:none}.grid{stroke:var(--grid);fill:none}.band{fill:var(--band)}
.curve{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}
.dot{fill:currentColor;stroke:currentColor;stroke-width:1}
.s1{color:var(--1)}.s2{color:var(--2)}.s3{color:var(--3)}
.legend span{display:inline-block;margin-right:1.2em}.chart svg.key{display:inline-block;width:28px;height:12px;margin-right:.4em}
@media(max-width:40rem){svg text{font-size:20px}table{font-size:.85rem}th,td{padding:.3rem .45rem}
td:first-child,th:first-child{white-space:pre-wrap;min-width:3em}}
@media print{@page{margin:16mm}body{max-width:none;padding:0;font-size:10pt}h2,h2+p{break-after:avoid}
figure,tr,thead{break-inside:avoid}.scroll{overflow:visible}
table,.dense{font-size:8.5pt}th,td{padding:.15rem .4rem}svg text{font-size:14px}
.live .slide{display:none}.chart svg{max-width:32rem}
.frame{display:none}
.frame:last-child,.frame[hidden]:last-child{display:block}}
)";

}  // namespace pacewise
