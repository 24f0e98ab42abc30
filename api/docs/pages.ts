/** The pages people read in a browser: a start page and a reference of all operations. Plain HTML, no script. */
import { EVENT_TYPES } from '../../actors/events.ts';
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';
import { API_PREFIX } from '../rest/routes.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../schemas.ts';
import { escape, layout } from './layout.ts';
import { tagOf } from './openapi.ts';
import { kindOf } from './schema-words.ts';

/** What someone sees who opens the admin's address in a browser. */
export function startPage(operations: readonly AnyOperation[], version: string): string {
  return layout('Edge fleet control', `<h1>Edge fleet control</h1>
<p>This admin runs version ${escape(version)}. It reaches, runs, sees and updates machines behind NAT and firewalls.</p>
<ul>
<li><a href="/api/docs">Reference of all ${operations.length} operations</a></li>
<li><a href="/api/openapi">OpenAPI 3.1 document</a></li>
<li><a href="/asyncdoc">Events: all ${EVENT_TYPES.length} types, and how they reach you</a></li>
<li><a href="/api/asyncapi">AsyncAPI 3.1 document</a></li>
<li><a href="/healthz">Health of this admin</a></li>
</ul>
<h2>A first call</h2>
<pre>curl -H "Authorization: Bearer $API_KEY" "$ADMIN_URL${API_PREFIX}/nodes"</pre>`);
}

/** Every operation with its route, fields and answer. */
export function referencePage(operations: readonly AnyOperation[], version: string): string {
  const offered = operations.flatMap((operation) => (operation.rest === null ? [] : [{ operation, rest: operation.rest }]));
  const tags = [...new Set(offered.map(({ rest }) => tagOf(rest)))];
  const sections = tags.map((tag) => `<h2 id="${tag}">${tag.replaceAll('_', ' ')}</h2>
${offered.filter(({ rest }) => tagOf(rest) === tag).map(({ operation, rest }) => section(operation, rest)).join('\n')}`);
  return layout('API reference', `<h1>API reference</h1>
<p>Version ${escape(version)}. The machine-readable form is the <a href="/api/openapi">OpenAPI document</a>. Send <code>Authorization: Bearer KEY</code> with every call that does not say otherwise. What happens in the fleet is told by <a href="/asyncdoc">events</a>.</p>
<p>${tags.map((tag) => `<a href="#${tag}">${tag.replaceAll('_', ' ')}</a>`).join(' · ')}</p>
${sections.join('\n')}`);
}

function section(operation: AnyOperation, rest: RestRoute): string {
  const { properties = {}, required = [] } = inputSchema(operation);
  const inPath = pathParameters(rest.path);
  const rows = Object.entries(properties as Record<string, JsonSchema>).map(([field, schema]) => `<tr><td><code>${escape(field)}</code></td>
<td>${inPath.includes(field) ? 'path' : rest.method === 'GET' ? 'query' : 'body'}${required.includes(field) ? ', required' : ''}</td><td>${escape(kindOf(schema))}</td><td>${escape(schema.description ?? '')}</td></tr>`);
  return `<details id="${operation.name}"><summary><span class="method ${rest.method.toLowerCase()}">${rest.method}</span> <code>${API_PREFIX}${escape(rest.path)}</code> ${escape(operation.summary)}</summary>
<p>Name on tRPC and MCP: <code>${operation.name}</code>. Answers ${rest.status}${'acceptedWhen' in rest ? ' or 202' : ''}${operation.scope === 'public' ? '; needs no key' : ''}${operation.creates ? '; takes <code>Idempotency-Key</code>' : ''}.</p>
${rows.length === 0 ? '' : `<table><tr><th>Field</th><th>In</th><th>Type</th><th>Meaning</th></tr>${rows.join('')}</table>`}
<p>${operation.list ? 'Each row of' : 'The value of'} <code>data</code>:</p><pre>${escape(JSON.stringify(outputSchema(operation), null, 2))}</pre></details>`;
}
