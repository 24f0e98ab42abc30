/** What all pages for people share: one look, light and dark, and text that cannot break out of it. */
import { guideTokens } from './tokens.ts';

const STYLE = `${guideTokens()}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;max-width:76rem;margin:1.2rem auto;padding:0 1rem;color:var(--text);background:var(--ground);overflow-wrap:break-word}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .8rem}h2{font-size:1.35rem;line-height:1.3;margin:2.6rem 0 .6rem}h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
a{color:var(--accent)}a:focus-visible,summary:focus-visible,pre:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
code,pre{font:14px/1.5 ui-monospace,monospace;background:var(--raised);border-radius:4px}code{padding:.1em .3em}pre{padding:.8rem;overflow:auto}pre code{padding:0;background:none}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}summary{cursor:pointer}
.method{display:inline-block;min-width:4.2rem;font-weight:600;font-family:ui-monospace,monospace}.get{color:var(--green)}.post{color:var(--amber)}.patch{color:var(--violet)}.delete{color:var(--red)}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line)}
.skip{position:absolute;left:-99rem}.skip:focus{position:fixed;left:1rem;top:.6rem;z-index:1;padding:.5rem .9rem;background:var(--ground);border:1px solid var(--accent);border-radius:6px}
.site{display:flex;flex-wrap:wrap;align-items:baseline;gap:.3rem 1.6rem;padding-bottom:.7rem;margin-bottom:1.8rem;border-bottom:1px solid var(--line)}.brand{font-weight:700;color:var(--text);text-decoration:none}.site ul{display:flex;flex-wrap:wrap;gap:.1rem 1.05rem;list-style:none;margin:0;padding:0}.site li a{display:block;padding:.2rem 0;color:var(--soft);text-decoration:none;border-bottom:2px solid transparent}.site li a:hover{color:var(--accent)}.site a[aria-current]{color:var(--text);border-color:var(--accent)}
.lead{font-size:1.1rem;color:var(--soft);max-width:46rem;margin:.2rem 0 1rem}.end{margin:3.5rem 0 1rem;padding-top:.8rem;border-top:1px solid var(--line);font-size:.9rem;color:var(--soft)}
@media print{:root{color-scheme:light;--text:#000;--soft:#333;--ground:#fff;--raised:#f4f6f8;--line:#bbb;--accent:#000}.skip,.site ul,.end{display:none}pre{white-space:pre-wrap;overflow:visible}body{margin:0;max-width:none}}`;

/** The pages of the documentation, in the order of their navigation. Source of the paths: docs/api.md, Surfaces. */
export const SITE: readonly (readonly [path: string, name: string])[] = [
  ['/guide/clusters', 'Clusters'],
  ['/guide/nodes', 'Nodes'],
  ['/guide/commands', 'Commands'],
  ['/guide/proxy', 'Proxy'],
  ['/guide/ssh', 'SSH'],
  ['/guide/metrics', 'Metrics'],
  ['/guide/events', 'Events'],
  ['/guide/integrators', 'Integrators'],
  ['/api/docs', 'API reference'],
  ['/asyncdoc', 'Event types'],
];

/** A page of the documentation. `body` and `style` are markup already. */
export interface DocumentationPage {
  readonly path: string;
  readonly title: string;
  readonly version: string;
  readonly body: string;
  readonly style?: string;
}

/** A page with the navigation of all pages above it and the version below. */
export function documentationPage({ path, title, version, body, style = '' }: DocumentationPage): string {
  const links = SITE.map(
    ([to, name]) => `<li><a href="${to}"${to === path ? ' aria-current="page"' : ''}>${name}</a></li>`,
  );
  return layout(
    path === '/' ? title : `${title} · Edge fleet control`,
    `<a class="skip" href="#content">To the content</a>
<header class="site"><a class="brand" href="/"${path === '/' ? ' aria-current="page"' : ''}>Edge fleet control</a><nav aria-label="Documentation"><ul>${links.join('')}</ul></nav></header>
<main id="content">${body}</main>
<footer class="end">Edge fleet control ${escape(version)} · <a href="/api/openapi">OpenAPI</a> · <a href="/api/asyncapi">AsyncAPI</a> · <a href="/healthz">Health</a></footer>`,
    style,
  );
}

/** A whole page. `body` and `style` are markup already. */
export function layout(title: string, body: string, style = ''): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escape(title)}</title><link rel="icon" href="data:,"><style>${STYLE}${style}</style></head>\n<body>${body}</body></html>\n`;
}

/** Text as markup that shows it. */
export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The same for a path, which may be broken before a slash where the line is too short. */
export function breakable(path: string): string {
  return escape(path).replaceAll(/(?<=.)\//gu, '<wbr>/');
}
