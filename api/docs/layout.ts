/** What all pages for people share: one look, light and dark, and text that cannot break out of it. */

/** Colours are named once; each pair of text and ground has a contrast of 4.5 at least (WCAG 2.2, AA). */
const STYLE = `:root{color-scheme:light dark;--text:#1a1f24;--soft:#55606b;--ground:#fff;--raised:#f4f6f8;--line:#d8dee4;--accent:#0b5cad;--on-accent:#fff;--green:#0b6b3a;--amber:#8a4b00;--violet:#5b3fa0;--red:#a3202a}
@media(prefers-color-scheme:dark){:root{--text:#dfe5eb;--soft:#9fabb7;--ground:#12161a;--raised:#1b2127;--line:#323b44;--accent:#7db7ff;--on-accent:#0c1a2b;--green:#63c28b;--amber:#e0a45c;--violet:#b8a2ee;--red:#f28b93}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--ground);overflow-wrap:break-word}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .8rem}h2{font-size:1.35rem;line-height:1.3;margin:2.6rem 0 .6rem}h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
a{color:var(--accent)}a:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
code,pre{font:14px/1.5 ui-monospace,monospace;background:var(--raised);border-radius:4px}code{padding:.1em .3em}pre{padding:.8rem;overflow:auto}pre code{padding:0;background:none}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}summary{cursor:pointer}
.method{display:inline-block;min-width:4.2rem;font-weight:600;font-family:ui-monospace,monospace}.get{color:var(--green)}.post{color:var(--amber)}.patch{color:var(--violet)}.delete{color:var(--red)}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line)}`;

/** A whole page. `body` and `style` are markup already. */
export function layout(title: string, body: string, style = ''): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escape(title)}</title><link rel="icon" href="data:,"><style>${STYLE}${style}</style></head>\n<body>${body}</body></html>\n`;
}

/** Text as markup that shows it. */
export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
