/** The debug dashboard as a page: one look at a running admin. Rendered here, no script. */
import {
  ACTOR_KINDS,
  ACTOR_ORDERS,
  type ActorSearch,
  type ActorSnapshot,
  type DatabaseSnapshot,
  type DebugInspection,
  type FamilySnapshot,
} from '../../actors/inspection.ts';
import { escape, layout } from '../docs/layout.ts';
import { adminOf, query } from './links.ts';
import { plot } from './plot.ts';
import type { Sample } from './samples.ts';

/** Actors and sessions that are shown at once. */
export const ACTORS_A_PAGE = 100;
const SESSIONS_SHOWN = 50;

const MIB = 1_048_576;

/** How often the page can load itself again, in s. */
export const REFRESH_SECONDS = [0, 2, 5, 15] as const;

const STYLE = `body{max-width:76rem}table{font-size:14px}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td code{font-size:12px}.box{overflow-x:auto}
figure{margin:.8rem 0}figcaption{font-size:14px}svg{width:100%;height:auto;max-height:12rem;font:11px system-ui,sans-serif}svg text{fill:var(--soft)}
.key{margin-left:.7rem;white-space:nowrap}.key::before{content:"";display:inline-block;width:.8em;height:.2em;background:var(--key);vertical-align:middle;margin-right:.35em}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:0 1.5rem}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin:.6rem 0}label{font-size:14px;color:var(--soft)}input,select,button{display:block;font:inherit;font-size:15px;color:var(--text);background:var(--raised);border:1px solid var(--line);border-radius:5px;padding:.3rem .5rem;max-width:100%}button{background:var(--accent);color:var(--on-accent);border-color:var(--accent);cursor:pointer}
input:focus-visible,select:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tree,.tree ul{list-style:none;margin:0;padding-left:1.1rem;border-left:1px solid var(--line)}.tree{padding-left:.6rem}.bad{color:var(--red);font-weight:600}.soft{color:var(--soft)}`;

/** What the page is made of. */
export interface DebugPage {
  readonly admin: { readonly name: string; readonly version: string; readonly startedAtMs: number };
  /** The query names it, as when it is looked at through another admin: so do its links. */
  readonly isNamed: boolean;
  /** Other admins that are alive. */
  readonly others: readonly string[];
  readonly search: ActorSearch;
  /** From 1. */
  readonly page: number;
  readonly refreshSeconds: number;
  readonly samples: readonly Sample[];
  readonly inspection: Omit<DebugInspection, 'database'>;
  /** Null: it does not answer. */
  readonly database: DatabaseSnapshot | null;
  readonly nowMs: number;
}

/** The whole page. */
export function debugPage(shown: DebugPage): string {
  const { admin, refreshSeconds, nowMs } = shown;
  const html = layout(
    `Debug: ${admin.name}`,
    `<h1>Inside ${escape(admin.name)}</h1>
<p>Version ${escape(admin.version)}, Node ${escape(process.version)}, up for ${duration(nowMs - admin.startedAtMs)}, at ${new Date(nowMs).toISOString()}.</p>
${admins(shown)}
<nav aria-label="On this page">${['process', 'tree', 'actors', 'sessions', 'database', 'outbox', 'tasks', 'leases', 'admins', 'links'].map((id) => `<a href="#${id}">${id}</a>`).join(' · ')}</nav>
${plots(shown.samples)}
${tree(shown)}
${actors(shown)}
${sessions(shown)}
${database(shown.database)}
${links(shown)}`,
    STYLE,
  );
  return refreshSeconds === 0
    ? html
    : html.replace('</head>', `<meta http-equiv="refresh" content="${refreshSeconds}"></head>`);
}

/** This one and the others: each link shows that admin, through whichever admin the page is looked at. */
function admins({ admin, others }: DebugPage): string {
  if (others.length === 0) return '';
  const links = [admin.name, ...others].toSorted().map((name) => {
    const shown = escape(name);
    return name === admin.name
      ? `<b>${shown}</b>`
      : `<a href="?${escape(new URLSearchParams({ admin: name }).toString())}">${shown}</a>`;
  });
  return `<nav aria-label="Admins">Admins: ${links.join(' · ')}</nav>`;
}

function plots(samples: readonly Sample[]): string {
  const time = (sample: Sample | undefined) =>
    sample === undefined ? '' : new Date(sample.atMs).toISOString().slice(11, 19);
  const span = { from: time(samples[0]), to: time(samples.at(-1)) };
  const of = (pick: (sample: Sample) => number) => samples.map(pick);
  const ms = (value: number) => `${round(value)} ms`;
  return `<h2 id="process">Process</h2><div class="plots">
${plot({
  title: 'The event loop was late by',
  series: [
    { name: 'p50', colour: '--green', values: of(({ lagP50Ms }) => lagP50Ms) },
    { name: 'p99', colour: '--accent', values: of(({ lagP99Ms }) => lagP99Ms) },
    { name: 'at most', colour: '--red', values: of(({ lagMaxMs }) => lagMaxMs) },
  ],
  text: ms,
  ...span,
})}
${plot({
  title: 'Memory',
  series: [
    { name: 'resident', colour: '--accent', values: of(({ residentBytes }) => residentBytes / MIB) },
    { name: 'heap', colour: '--green', values: of(({ heapBytes }) => heapBytes / MIB) },
    { name: 'external', colour: '--violet', values: of(({ externalBytes }) => externalBytes / MIB) },
  ],
  text: (value) => `${round(value)} MiB`,
  ...span,
})}
${plot({ title: 'Processor', series: [{ name: 'of one core', colour: '--amber', values: of(({ cpu }) => cpu * 100) }], text: (value) => `${round(value)} %`, ...span })}
</div>`;
}

function tree({ inspection, ...shown }: DebugPage): string {
  const families = inspection.families();
  const { deadLetters, crashes, escalations } = inspection.counters();
  return `<h2 id="tree">Supervision tree</h2>
<p>Since the start: ${crashes} crashes, ${escalations} of them too many in a row, ${deadLetters} messages that found nobody.</p>
<ul class="tree"><li>system<ul>${families.map((family) => branch(family, adminOf(shown))).join('')}</ul></li></ul>`;
}

function branch(
  { kind, actors: count, shards, mailboxMessages, mailboxMessagesMax, restarts }: FamilySnapshot,
  admin: Readonly<Record<string, string>>,
): string {
  return `<li><a href="?${escape(new URLSearchParams({ ...admin, kind }).toString())}#actors">${kind}</a>: ${count} under ${shards} ${shards === 1 ? 'parent' : 'parents'}, ${mailboxMessages} messages wait${mailboxMessages === 0 ? '' : ` (${mailboxMessagesMax} at one)`}, <span${restarts === 0 ? '' : ' class="bad"'}>${restarts} restarts</span></li>`;
}

function actors(shown: DebugPage): string {
  const { inspection, search, page, refreshSeconds } = shown;
  const { actors: found, total } = inspection.search(search);
  const pages = Math.max(1, Math.ceil(total / ACTORS_A_PAGE));
  const link = (to: number, text: string) =>
    to < 1 || to > pages
      ? ''
      : `<a href="?${escape(query({ ...search, page: to, refresh: refreshSeconds, named: adminOf(shown) }))}#actors">${text}</a>`;
  const option = (value: string, chosen: string, text: string) =>
    `<option value="${value}"${value === chosen ? ' selected' : ''}>${text}</option>`;
  return `<h2 id="actors">Actors</h2>
<form method="get" action="#actors">${shown.isNamed ? `<input type="hidden" name="admin" value="${escape(shown.admin.name)}">` : ''}
<label>Part of an id<input name="q" value="${escape(search.text)}" maxlength="64"></label>
<label>Kind<select name="kind">${option('', search.kind ?? '', 'all')}${ACTOR_KINDS.map((kind) => option(kind, search.kind ?? '', kind)).join('')}</select></label>
<label>First<select name="sort">${ACTOR_ORDERS.map((order) => option(order, search.order, { mailbox: 'most messages', restarts: 'most restarts', id: 'by id' }[order])).join('')}</select></label>
<label>Load again<select name="refresh">${REFRESH_SECONDS.map((seconds) => option(String(seconds), String(refreshSeconds), seconds === 0 ? 'never' : `every ${seconds} s`)).join('')}</select></label>
<button>Show</button></form>
<p>${total} found, page ${page} of ${pages}. ${link(page - 1, 'Previous')} ${link(page + 1, 'Next')}</p>
${table(['Kind', 'Id', 'Cluster', 'Condition', '#Messages', '#Restarts', 'Last crash', '#State'], found.map(actorRow))}`;
}

function actorRow({
  kind,
  id,
  cluster,
  condition,
  mailboxMessages,
  restarts,
  lastCrash,
  stateBytes,
}: ActorSnapshot): readonly string[] {
  const crash =
    lastCrash === null
      ? ''
      : `${new Date(lastCrash.atMs).toISOString()} ${escape(lastCrash.error)} on ${escape(lastCrash.messageType ?? 'no message')}`;
  return [
    kind,
    `<code>${escape(id)}</code>`,
    cluster === null ? '' : `<code>${escape(cluster)}</code>`,
    condition === 'running' ? condition : `<span class="bad">${escape(condition)}</span>`,
    String(mailboxMessages),
    String(restarts),
    crash,
    stateBytes === null ? '' : bytes(stateBytes),
  ];
}

function sessions({ inspection, nowMs }: DebugPage): string {
  const { sessions: shown, total } = inspection.sessions(SESSIONS_SHOWN);
  const rows = shown.map(({ node, protocol, openedMs, heardMs, reportedMs, bufferedBytes, isPaused }) => [
    `<code>${escape(node)}</code>`,
    String(protocol),
    duration(nowMs - openedMs),
    duration(nowMs - heardMs),
    duration(nowMs - reportedMs),
    bytes(bufferedBytes),
    isPaused ? '<span class="bad">held back</span>' : '',
  ]);
  return `<h2 id="sessions">Sessions</h2><p>${total} are live here${total > shown.length ? `; the ${shown.length} that were silent for longest` : ''}.</p>
${table(['Node', '#Protocol', '#Open for', '#Heard ago', '#Reported ago', '#Buffered', ''], rows)}`;
}

function database(snapshot: DatabaseSnapshot | null): string {
  if (snapshot === null) return '<h2 id="database">Database</h2><p class="bad">It does not answer.</p>';
  const left = (ms: number | null) =>
    ms === null ? '' : ms < 0 ? `<span class="bad">ran out ${duration(-ms)} ago</span>` : duration(ms);
  return `<h2 id="database">Database</h2>
<p>PostgreSQL ${escape(snapshot.version)}, ${bytes(snapshot.bytes)}, ${snapshot.connections} connections in all, ${snapshot.waitingForLocks} wait for locks, the longest transaction runs for ${duration(snapshot.longestTransactionMs)}. This admin's pool: ${snapshot.pool.open} open, ${snapshot.pool.idle} idle, ${snapshot.pool.waiting} callers wait.</p>
${table(
  ['Table', '#Rows', '#Dead rows', '#Size', '#Sequential scans', '#Index scans'],
  snapshot.tables.map((one) => [
    escape(one.name),
    String(one.rows),
    String(one.deadRows),
    bytes(one.bytes),
    String(one.sequentialScans),
    String(one.indexScans),
  ]),
)}
<h2 id="outbox">Outbox</h2>${table(
    ['Channel', 'Held by', '#Epoch', '#Lease', '#Events that wait'],
    snapshot.channels.map(({ name, admin, epoch, leaseMs, backlog }) => [
      escape(name),
      escape(admin ?? 'nobody'),
      String(epoch),
      left(leaseMs),
      String(backlog),
    ]),
  )}
${tasks(snapshot)}
<h2 id="leases">Leases of clusters</h2><p>${snapshot.leaseCount} in all${snapshot.leaseCount > snapshot.leases.length ? `; the ${snapshot.leases.length} that run out first` : ''}.</p>
${table(
  ['Cluster', '#Nodes', 'Owner', '#Epoch', '#Owned for', '#Lease'],
  snapshot.leases.map(({ cluster, nodes, admin, epoch, ownedMs, leaseMs }) => [
    escape(cluster),
    String(nodes),
    escape(admin ?? 'nobody'),
    String(epoch),
    ownedMs === null ? '' : duration(ownedMs),
    left(leaseMs),
  ]),
)}
<h2 id="admins">Admins</h2>${table(
    ['Name', 'Version', '#Checked in ago', '#Clusters', '#Drains for'],
    snapshot.admins.map(({ name, version, seenMs, clusters, drainingMs }) => [
      escape(name),
      escape(version),
      duration(seenMs),
      String(clusters),
      drainingMs === null ? '' : duration(drainingMs),
    ]),
  )}`;
}

/** What one admin does at a time. */
function tasks({ tasks: shown }: DatabaseSnapshot): string {
  const rows = shown.map(({ task, admin }) => [
    escape(task),
    admin === null ? '<span class="bad">nobody</span>' : escape(admin),
  ]);
  return `<h2 id="tasks">Tasks that one admin has</h2>${table(['Task', 'Done by'], rows)}`;
}

function links({ inspection, nowMs }: DebugPage): string {
  const rows = inspection
    .links()
    .map(({ admin, state, sinceMs, latencyMs, why }) => [
      escape(admin),
      state === 'unreached' ? `<span class="bad">${state}</span>` : escape(state),
      sinceMs === null ? '' : duration(nowMs - sinceMs),
      latencyMs === null ? '' : `${round(latencyMs)} ms`,
      why === null ? '' : escape(`it ${why}`),
    ]);
  return `<h2 id="links">Links to other admins</h2>
${table(['Admin', 'State', '#For', '#Latency', ''], rows)}`;
}

/** Cells are markup; a heading that begins with # is a column of numbers. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (tag: string, text: string, column: number) =>
    `<${tag}${headings[column]?.startsWith('#') ? ' class="n"' : ''}>${text}</${tag}>`;
  if (rows.length === 0) return '<p class="soft">None.</p>';
  return `<div class="box"><table><tr>${headings.map((heading, column) => cell('th', heading.replace('#', ''), column)).join('')}</tr>${rows.map((row) => `<tr>${row.map((text, column) => cell('td', text, column)).join('')}</tr>`).join('')}</table></div>`;
}

function round(value: number): string {
  return value < 10 ? value.toFixed(1).replace('.0', '') : String(Math.round(value));
}

function bytes(value: number): string {
  const power = value < 1_024 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${round(value / 1_024 ** power)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}

function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 120) return `${round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
