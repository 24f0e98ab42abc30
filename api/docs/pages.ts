/** The pages people read in a browser: a start page and a reference of all operations. Plain HTML, no script. */
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';
import { API_PREFIX } from '../rest/routes.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../schemas.ts';
import { tagOf } from './openapi.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1f24;background:#fff}
code,pre{font:14px/1.5 ui-monospace,monospace;background:#f3f5f7;border-radius:4px}code{padding:.1em .3em}pre{padding:.8rem;overflow:auto}
details{border:1px solid #d5dbe1;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}summary{cursor:pointer}
.method{display:inline-block;min-width:4.2rem;font-weight:600;font-family:ui-monospace,monospace}.get{color:#0b6b3a}.post{color:#8a4b00}.patch{color:#5b3fa0}.delete{color:#a3202a}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid #e6eaee}
@media(prefers-color-scheme:dark){body{color:#dde3e9;background:#14181c}code,pre{background:#20262c}details,td,th{border-color:#333b43}a{color:#7db7ff}.get{color:#63c28b}.post{color:#e0a45c}.patch{color:#b39ce8}.delete{color:#f0818a}}`;

/** What someone sees who opens the admin's address in a browser. */
export function startPage(operations: readonly AnyOperation[], version: string): string {
  return layout('Edge fleet control', `<h1>Edge fleet control</h1>
<p>This admin runs version ${escape(version)}. It reaches, runs, sees and updates machines behind NAT and firewalls.</p>
<ul>
<li><a href="/api/docs">Reference of all ${operations.length} operations</a></li>
<li><a href="/api/openapi">OpenAPI 3.1 document</a></li>
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
<p>Version ${escape(version)}. The machine-readable form is the <a href="/api/openapi">OpenAPI document</a>. Send <code>Authorization: Bearer KEY</code> with every call that does not say otherwise.</p>
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

/** A schema in a few words. */
function kindOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map(String).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((part) => kindOf(part)))].join(' | ');
  if (schema.type === 'array') return `list of ${kindOf(schema.items as JsonSchema)}`;
  if (schema.type === 'object' && schema.properties !== undefined) return `object {${Object.keys(schema.properties).join(', ')}}`;
  return [schema.format ?? schema.type ?? 'any', bounds(schema)].filter(Boolean).join(' ');
}

function bounds({ minLength, maxLength, minimum, maximum }: JsonSchema): string {
  const [low, high] = [minimum ?? minLength, maximum ?? maxLength];
  return low === undefined && high === undefined ? '' : `(${low ?? ''}–${high ?? ''})`;
}

function layout(title: string, body: string): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escape(title)}</title><style>${STYLE}</style></head>\n<body>${body}</body></html>\n`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
