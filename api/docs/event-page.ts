/**
 * `/asyncdoc`: every type of event for people, with its fields and an example. Made by the server, and whole without a
 * script.
 */
import { CATALOGUE_VERSION } from '../../actors/catalogue-version.ts';
import { EVENT_DEFINITIONS, explainEventType } from '../../actors/event-catalogue.ts';
import { Envelope } from '../../actors/events.ts';
import { topicOf } from '../../actors/event-topics.ts';
import { EVENT_TYPES, type EventType } from '../../actors/events.ts';
import type { JsonSchema } from '../schemas.ts';
import { dataSchema, schemaOf } from './event-schemas.ts';
import { documentationPage, escape } from './layout.ts';
import { isNullable, kindOf } from './schema-words.ts';
import { VIEWER_PATH } from './viewer.ts';
import { WEBHOOK_HEADERS } from './webhook-headers.ts';

const STYLE = `.head p{max-width:46rem}
.ways{display:flex;flex-wrap:wrap;gap:.6rem;margin:1.2rem 0}.ways a{padding:.45rem .9rem;border:1px solid var(--accent);border-radius:8px;text-decoration:none;font-weight:600}.ways a:first-child{background:var(--accent);color:var(--on-accent)}
.columns{display:grid;grid-template-columns:15.5rem minmax(0,1fr);gap:3rem;align-items:start}
.types{position:sticky;top:1rem;max-height:calc(100vh - 2rem);overflow:auto;font-size:.9rem}.types h2{font-size:.9rem;font-weight:600;color:var(--soft);margin:1.1rem 0 .2rem}.types ul{list-style:none;margin:0;padding:0}.types a{display:block;padding:.16rem .6rem;border-left:2px solid var(--line);text-decoration:none;color:var(--text)}.types a:hover{border-color:var(--accent);color:var(--accent)}
.overview{padding:0;list-style:none;margin:.4rem 0}.overview li{display:grid;grid-template-columns:minmax(0,21rem) minmax(0,1fr);gap:.1rem 1.2rem;padding:.5rem 0;border-bottom:1px solid var(--line)}.overview a{font:600 14px/1.6 ui-monospace,monospace;text-decoration:none}
article{border:1px solid var(--line);border-radius:10px;padding:1rem 1.2rem .9rem;margin:1rem 0}article h3{margin:0 0 .3rem;font:600 1rem/1.5 ui-monospace,monospace}article h3 a{color:inherit;text-decoration:none}article p{margin:.2rem 0 .6rem}article:target{border-color:var(--accent)}
.topic{color:var(--soft);font-size:.88rem}summary{font-weight:600}.wide{overflow-x:auto}
th{font-size:.875rem;color:var(--soft)}td{font-size:.93rem}td:nth-child(2){font:14px/1.6 ui-monospace,monospace}td:first-child code{white-space:nowrap}
.null{color:var(--violet);white-space:nowrap}tr.own td:first-child code{color:var(--accent);font-weight:600}
.k{color:var(--accent)}.s{color:var(--green)}.n{color:var(--amber)}.w{color:var(--violet)}
@media(max-width:56rem){.columns{display:block}
.types{display:none}.overview li,.overview a{display:block}
.fields thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.fields,.fields tbody,.fields tr,.fields td{display:block;border:0;padding:0}.fields tr{padding:.5rem 0;border-bottom:1px solid var(--line)}}`;

/** What the second word of a type is about, in the order of the page. */
const SUBJECTS: Readonly<Record<string, string>> = {
  node: 'Nodes',
  command_execution: 'Command executions',
  self_update_request: 'Self-update requests',
  enrollment_key: 'Enrolment keys',
  ssh_username: 'SSH usernames',
  core: 'The service itself',
};

/** How each broker names what is published, and what keeps its order. Source: docs/brokers.md. */
const BROKERS: readonly (readonly [setting: string, where: string])[] = [
  ['nats', 'Subject: the type. With JetStream five durable streams.'],
  ['amqp091, rabbitmq', 'Durable topic exchange edge.events, routing key: the type. Messages are persistent.'],
  ['redis', 'Channel: the type.'],
  ['mqtt', 'Topic: the type with slashes for dots, as edge/node/registered.'],
  [
    'kafka',
    'Five topics, named with each type below. The partition key is the id of the node, execution, request or key.',
  ],
  ['cloud_a_sns, cloud_b_pubsub', 'The same five topics, with the attributes type and corename to filter by.'],
];

const VERIFICATION = `import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the bytes as they came, before anything parses them
const expected = createHmac('sha256', secret).update(body).digest();
const given = Buffer.from(headers['x-edge-signature'].replace('sha256=', ''), 'hex');
const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);`;

/** The page. `coreName` is that of the examples; `hasViewer` says whether the viewer is installed here. */
export function eventPage(version: string, coreName: string, hasViewer: boolean): string {
  const groups = Object.entries(SUBJECTS).map(([subject, title]) => ({
    subject,
    title,
    types: EVENT_TYPES.filter((type) => type.split('.')[1] === subject),
  }));
  return documentationPage({
    path: '/asyncdoc',
    title: 'Event types',
    version,
    style: STYLE,
    body: `<div class="head">
<h1>Event types</h1>
<p class="topic">Version ${CATALOGUE_VERSION} of the catalogue.</p>
<p class="lead">What happens in the fleet, told as it happens: ${EVENT_TYPES.length} types of <a href="#envelope">CloudEvents 1.0</a>, by <a href="#webhooks">webhooks</a> and, where one is configured, a <a href="#brokers">message broker</a>.</p>
<p>Each event comes at least once, and in order for each node, execution, request or key. <code>data</code> is the whole object at that moment, never a difference. What is nothing is <span class="null">null</span>, never left out. Secrets are never in it.</p>
<p class="ways">${hasViewer ? `<a href="${VIEWER_PATH}">Open in the AsyncAPI viewer</a> ` : ''}<a href="/api/asyncapi">AsyncAPI 3.1 document</a> <a href="/api/docs#event_types">Operations</a></p>
${hasViewer ? '' : '<p class="topic">The interactive viewer is not part of this installation. This page and the document have all that it would show.</p>'}
</div>
<div class="columns">
<nav class="types" aria-label="Types of events">${groups.map(({ title, types }) => `<h2>${title}</h2><ul>${types.map((type) => `<li><a href="#${type}">${type.split('.')[2]}</a></li>`).join('')}</ul>`).join('')}
<h2>Delivery</h2><ul><li><a href="#envelope">envelope</a></li><li><a href="#webhooks">webhooks</a></li><li><a href="#brokers">brokers</a></li></ul></nav>
<div>
<section aria-labelledby="types"><h2 id="types" style="margin-top:0">All types</h2>
<ul class="overview">${EVENT_TYPES.map((type) => `<li><a href="#${type}">${type}</a><span>${escape(EVENT_DEFINITIONS[type].description)}</span></li>`).join('')}</ul></section>
<section aria-labelledby="envelope"><h2 id="envelope">The envelope</h2>
<p>Every event is one JSON object, of the media type <code>application/cloudevents+json</code>.</p>
${fieldTable(schemaOf(Envelope))}</section>
<section aria-labelledby="webhooks"><h2 id="webhooks">Webhooks</h2>
<p>A webhook names a URL, a secret and the types that it wants. Each event is a <code>POST</code> of its envelope. A 2xx within <code>WEBHOOK_TIMEOUT_MS</code> (10 seconds) is delivered; anything else is tried again with growing pauses, up to <code>WEBHOOK_MAX_ATTEMPTS</code> times; only a 410 ends it at once. Redirects are not followed.</p>
${fieldTable(WEBHOOK_HEADERS, 'Header')}
<p>To know that an event is from here, in Node:</p><pre tabindex="0"><code>${escape(VERIFICATION)}</code></pre></section>
<section aria-labelledby="brokers"><h2 id="brokers">Brokers</h2>
<p>One at most, chosen by <code>EVENT_BROKER_ADAPTER</code>. An outage delays nothing else; what is younger than <code>EVENT_DELIVERY_MAX_AGE_SECONDS</code> goes out when the broker is back.</p>
<table class="fields"><thead><tr><th>Adapter</th><th>Where an event goes</th></tr></thead><tbody>${BROKERS.map(([setting, where]) => `<tr><td><code>${setting}</code></td><td style="font:inherit">${escape(where)}</td></tr>`).join('')}</tbody></table></section>
${groups
  .map(
    ({ subject, title, types }) => `<section aria-labelledby="about-${subject}"><h2 id="about-${subject}">${title}</h2>
${types.map((type) => article(type, coreName)).join('\n')}</section>`,
  )
  .join('\n')}
</div></div>`,
  });
}

function article(type: EventType, coreName: string): string {
  return `<article id="${type}"><h3><a href="#${type}">${type}</a></h3>
<p>${escape(EVENT_DEFINITIONS[type].description)}</p>
<p class="topic">Topic: <code>${topicOf(type)}</code></p>
<details><summary>Fields of data</summary>${fieldTable(dataSchema(type))}</details>
<details><summary>Example</summary><pre tabindex="0"><code>${highlighted(explainEventType(type, coreName).example)}</code></pre></details></article>`;
}

/** One row a field. What this type adds or fixes stands out. */
function fieldTable(schema: JsonSchema, heading = 'Field'): string {
  const rows = Object.entries(schema.properties as Readonly<Record<string, JsonSchema>>).map(
    ([field, value]) => `<tr${isOwn(field, value) ? ' class="own"' : ''}><td><code>${escape(field)}</code></td>
<td>${escape(kindOf(value))}${isNullable(value) ? ' <span class="null">or null</span>' : ''}</td><td>${withCode(value.description ?? '')}</td></tr>`,
  );
  return `<div class="wide"><table class="fields"><thead><tr><th>${heading}</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

function isOwn(field: string, schema: JsonSchema): boolean {
  return field.startsWith('previous_') || schema.const !== undefined || schema.type === 'null';
}

/** Words between backticks become code. */
function withCode(text: string): string {
  return escape(text).replaceAll(/`(?<code>[^`]+)`/gu, '<code>$<code></code>');
}

/** JSON with its keys, texts, numbers and words in colours. */
function highlighted(value: unknown): string {
  return escape(JSON.stringify(value, null, 2)).replaceAll(
    /(?<key>&quot;[\w ]+&quot;)(?=:)|(?<string>&quot;.*?&quot;)|(?<number>(?<=[ [])-?\d+)|(?<word>\b(?:true|false|null)\b)/gu,
    (found, ...groups) => {
      const { key, string, number } = groups.at(-1) as Readonly<Record<string, string | undefined>>;
      const kind = key !== undefined ? 'k' : string !== undefined ? 's' : number !== undefined ? 'n' : 'w';
      return `<span class="${kind}">${found}</span>`;
    },
  );
}
