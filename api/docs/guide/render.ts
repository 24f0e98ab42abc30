/** Guide pages as HTML: one renderer for all of them. */
import { EVENT_DEFINITIONS } from '../../../actors/event-catalogue.ts';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { unreachable } from '../../../actors/step.ts';
import { API_PREFIX } from '../../rest/routes.ts';
import { breakable, documentationPage, escape } from '../layout.ts';
import { SCRAPE_ROUTES } from '../scrape-routes.ts';
import { COPY_SCRIPT, copyButton } from './copy.ts';
import { PLACES, type Block, type GuideFacts, type GuidePage, type Section, type Shell } from './page.ts';

const STYLE = `.guide{display:grid;grid-template-columns:minmax(0,1fr);gap:0 3.5rem}
.toc{font-size:.9rem}.toc ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem}.toc a{display:block;padding:.25rem 0;text-decoration:none}.toc a:hover{text-decoration:underline}
.toc h2{font-size:.9rem;margin:.6rem 0 .1rem;color:var(--soft);font-weight:600}
.prose{max-width:47rem}.prose h2:first-child{margin-top:1.6rem}.prose p,.prose ul{margin:.7rem 0}.prose li{margin:.35rem 0}.prose ul{padding-left:1.3rem}
h2 a.anchor{color:inherit;text-decoration:none}h2 a.anchor:hover{text-decoration:underline;text-decoration-color:var(--line)}
.shell{margin:1rem 0;border:1px solid var(--line);border-radius:8px;overflow:hidden}.shell figcaption{display:flex;align-items:baseline;gap:.5rem;font-size:.875rem;color:var(--soft);padding:.3rem .9rem;border-bottom:1px solid var(--line)}.shell figcaption::before{flex:none;margin:0!important}
.copy{margin-left:auto;flex:none;font:inherit;color:var(--accent);background:none;border:1px solid var(--line);border-radius:5px;padding:.05rem .6rem;min-width:5.2rem;cursor:pointer}.copy:hover{border-color:var(--accent)}.copy:focus-visible{outline:2px solid var(--accent);outline-offset:2px}.said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}@media print{.copy{display:none}}
.state{padding:.5rem .9rem;border:1px solid var(--line);border-left-width:.35rem;border-radius:8px}.state.well{border-left-color:var(--green)}.state.ill{border-left-color:var(--red)}
.shell pre{border-radius:0;margin:0;padding:.7rem .9rem}.shell pre.prints{background:none;border-top:1px solid var(--line);color:var(--soft)}.shell.machine figcaption::before,.shell.prometheus figcaption::before{content:"";display:inline-block;width:.6rem;height:.6rem;border-radius:2px;background:var(--violet);margin-right:.5rem}
.shell.here figcaption::before,.shell.another figcaption::before{content:"";display:inline-block;width:.6rem;height:.6rem;border-radius:50%;background:var(--accent);margin-right:.5rem}
.shell .file{font-family:ui-monospace,monospace}.comment{color:var(--soft)}
.scroll{overflow-x:auto;margin:1rem 0}.broad{min-width:38rem}td{overflow-wrap:normal}@media(min-width:48rem){td:first-child code{white-space:nowrap}}th{font-size:.875rem;color:var(--soft);font-weight:600}
.operations{list-style:none;padding:0!important}.operations li{display:grid;grid-template-columns:4.4rem minmax(0,1fr);gap:0 .6rem;padding:.55rem 0;margin:0!important;border-bottom:1px solid var(--line)}.operations .method{font-size:14px}.operations code{background:none;padding:0}.operations .what{grid-column:2}
dl{margin:.6rem 0 1.4rem}dt{padding-top:.55rem}dd{margin:.1rem 0 0;padding-bottom:.55rem;border-bottom:1px solid var(--line)}.default{color:var(--soft);margin-left:.5rem;font-size:.93rem}.default::before{content:"default "}.of{margin-bottom:0!important}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.8rem;list-style:none;margin:1.2rem 0!important;padding:0!important}.cards li{margin:0!important}.cards a{display:block;height:100%;padding:.8rem 1rem;border:1px solid var(--line);border-radius:10px;text-decoration:none;color:var(--text)}.cards a:hover{border-color:var(--accent)}.cards strong{display:block;color:var(--accent);margin-bottom:.15rem}.cards span{font-size:.93rem;color:var(--soft)}
@media(min-width:68rem){.guide{grid-template-columns:minmax(0,47rem) minmax(0,1fr)}.toc{grid-column:2;grid-row:1;position:sticky;top:1.2rem;align-self:start;max-height:calc(100vh - 2rem);overflow:auto;margin-top:1.6rem}.toc ul{display:block}.toc a{border-left:2px solid var(--line);padding:.2rem .8rem}.prose{grid-column:1;grid-row:1}}
@media print{.toc{display:none}}`;

/** A whole page, at its path. Throws when two sections have one title. */
export function renderGuide(path: string, page: GuidePage, facts: GuideFacts): string {
  const ids = page.sections.map(idOf);
  if (new Set(ids).size < ids.length) throw new Error(`Two sections of ${path} have one title`);
  return documentationPage({
    path,
    title: page.title,
    version: facts.version,
    style: STYLE,
    body: `<h1>${escape(page.title)}</h1>
<p class="lead">${inline(page.lead)}</p>
<div class="guide"><nav class="toc" aria-label="On this page"><h2>On this page</h2><ul>${page.sections.map((section) => `<li><a href="#${idOf(section)}">${escape(section.title)}</a></li>`).join('')}</ul></nav>
<div class="prose">${page.sections.map((section) => renderSection(section, facts)).join('\n')}</div></div>
${COPY_SCRIPT}`,
  });
}

function renderSection(section: Section, facts: GuideFacts): string {
  const id = idOf(section);
  return `<section aria-labelledby="${id}"><h2 id="${id}"><a class="anchor" href="#${id}">${escape(section.title)}</a></h2>\n${section.blocks.map((block) => renderBlock(block, facts)).join('\n')}</section>`;
}

function renderBlock(block: Block, facts: GuideFacts): string {
  switch (block.kind) {
    case 'text':
      return `<p>${inline(block.text)}</p>`;
    case 'state':
      return state(facts.checks);
    case 'list':
      return `<ul>${block.items.map((item) => `<li>${inline(item)}</li>`).join('')}</ul>`;
    case 'cards':
      return `<ul class="cards">${block.cards.map(({ path, name, text }) => `<li><a href="${escape(path)}"><strong>${escape(name)}</strong> <span>${escape(text)}</span></a></li>`).join('')}</ul>`;
    case 'table':
      return table(
        block.head,
        block.rows.map((row) => row.map(inline)),
      );
    case 'settings':
      return settings(block);
    case 'operations':
      return operations(facts.operations, block.picks);
    case 'scrapes':
      return `<ul class="operations">${SCRAPE_ROUTES.map(({ path, summary }) => route('GET', `<code>${breakable(path.replaceAll(/\{(?<name>\w+)\}/gu, ':$<name>'))}</code>`, summary)).join('')}</ul>`;
    case 'events':
      return `<dl>${EVENT_TYPES.filter((type) => block.subjects.includes(type.split('.')[1] ?? ''))
        .map(
          (type) =>
            `<dt><a href="/asyncdoc#${type}"><code>${type}</code></a></dt><dd>${escape(EVENT_DEFINITIONS[type].description)}</dd>`,
        )
        .join('')}</dl>`;
    case 'file':
      return `<figure class="shell"><figcaption class="file"><span>${escape(block.name)}</span>${copyButton(escape(block.name))}</figcaption><pre class="content" tabindex="0"><code>${escape(block.content)}</code></pre></figure>`;
    case 'shell':
      return shell(block);
    default:
      return unreachable(block);
  }
}

/** Null: the checks take longer than a page waits. */
function state(checks: GuideFacts['checks']): string {
  if (checks === null)
    return `<p class="state">Its checks take their time. <a href="/healthz">What they find</a> comes when they are through.</p>`;
  const failed = checks.filter(({ healthy }) => !healthy);
  return failed.length === 0
    ? `<p class="state well">It is well: <a href="/healthz">all ${checks.length} checks</a> pass.</p>`
    : `<p class="state ill">It is not well: ${failed.length} of <a href="/healthz">${checks.length} checks</a> ${failed.length === 1 ? 'fails' : 'fail'}.</p><ul>${failed.map(({ name, error }) => `<li><code>${escape(name)}</code>: ${escape(error ?? 'it fails')}</li>`).join('')}</ul>`;
}

function settings({ program, rows }: Extract<Block, { kind: 'settings' }>): string {
  return `<p class="of">Of <code>${program}</code>:</p><dl>${rows.map(([name, fallback, meaning]) => `<dt><code data-setting="${program}">${escape(name)}</code> <span class="default">${inline(fallback)}</span></dt><dd>${inline(meaning)}</dd>`).join('')}</dl>`;
}

function operations(all: GuideFacts['operations'], picks: (path: string) => boolean): string {
  const items = all.flatMap(({ name, rest, summary }) =>
    rest !== null && picks(rest.path)
      ? [
          route(
            rest.method,
            `<a href="/api/docs#${name}"><code>${breakable(API_PREFIX + rest.path)}</code></a>`,
            summary,
          ),
        ]
      : [],
  );
  return `<ul class="operations">${items.join('')}</ul>`;
}

function route(method: string, path: string, summary: string): string {
  return `<li><span class="method ${method.toLowerCase()}">${method}</span> ${path} <span class="what">${escape(summary)}</span></li>`;
}

function shell({ commands, where = 'here', prints, lasts, asks, untested }: Shell): string {
  const marks = { where, ...(lasts && { lasts }), ...(asks && { asks }), ...(untested && { untested }) };
  const attributes = Object.entries(marks)
    .map(([name, value]) => ` data-${name}="${escape(value)}"`)
    .join('');
  const caption = `${PLACES[where]}${lasts ? ', goes on until Ctrl-C' : ''}`;
  return `<figure class="shell ${where}"><figcaption><span>${caption}</span>${copyButton(escape(commands.split('\n')[0] ?? ''))}</figcaption><pre class="commands" tabindex="0"${attributes}><code>${withComments(commands)}</code></pre>${prints === undefined ? '' : `<pre class="prints" tabindex="0" aria-label="What it prints"><samp>${escape(prints)}</samp></pre>`}</figure>`;
}

/** Cells are markup. A table that is wider than the page scrolls in a box of its own, also by keyboard. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `<div class="scroll" role="region" aria-label="${escape(head.join(', ').replaceAll('`', ''))}" tabindex="0"><table${head.length > 3 ? ' class="broad"' : ''}><thead><tr>${head.map((cell) => `<th scope="col">${inline(cell)}</th>`).join('')}</tr></thead><tbody>${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</tbody></table></div>`;
}

/** What stands behind a # of its own is for people. */
function withComments(commands: string): string {
  return commands
    .split('\n')
    .map((line) => escape(line).replace(/(?<comment>(?:^|\s{2,})# .*)$/u, '<span class="comment">$<comment></span>'))
    .join('\n');
}

function inline(text: string): string {
  return escape(text)
    .replaceAll(/`(?<code>[^`]+)`/gu, '<code>$<code></code>')
    .replaceAll(/\[(?<label>[^\]]+)\]\((?<href>[/#][^)\s]*)\)/gu, '<a href="$<href>">$<label></a>');
}

function idOf({ title }: Section): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, '-')
    .replaceAll(/^-|-$/gu, '');
}
