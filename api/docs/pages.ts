/** `/api/docs`: a reference of all operations. Plain HTML, no script. */
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';
import { API_PREFIX } from '../rest/routes.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../schemas.ts';
import { breakable, documentationPage, escape } from './layout.ts';
import { mayHaveSlash, tagOf } from './openapi.ts';
import { kindOf } from './schema-words.ts';

const STYLE = `.tags{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;padding:0}.tags a{display:block;padding:.2rem 0}
summary{display:grid;grid-template-columns:4.4rem minmax(0,26rem) minmax(0,1fr);gap:.1rem .8rem;align-items:baseline}summary code{background:none;padding:0}
.scroll{overflow-x:auto}.scroll table{min-width:34rem}th{font-size:.875rem;color:var(--soft)}h2{text-transform:capitalize}
@media(max-width:56rem){summary{grid-template-columns:4.4rem minmax(0,1fr)}summary span:last-child{grid-column:1/-1}}`;

/** Every operation with its route, fields and answer. */
export function referencePage(operations: readonly AnyOperation[], version: string): string {
  const offered = operations.flatMap((operation) =>
    operation.rest === null ? [] : [{ operation, rest: operation.rest }],
  );
  const tags = [...new Set(offered.map(({ rest }) => tagOf(rest)))];
  const sections = tags.map(
    (tag) => `<h2 id="${tag}">${tag.replaceAll('_', ' ')}</h2>
${offered
  .filter(({ rest }) => tagOf(rest) === tag)
  .map(({ operation, rest }) => section(operation, rest))
  .join('\n')}`,
  );
  return documentationPage({
    path: '/api/docs',
    title: 'API reference',
    version,
    style: STYLE,
    body: `<h1>API reference</h1>
<p class="lead">All ${offered.length} operations that have a route. The machine-readable form is the <a href="/api/openapi">OpenAPI document</a>. Send <code>Authorization: Bearer KEY</code> with every call that does not say otherwise. What happens in the fleet is told by <a href="/asyncdoc">events</a>.</p>
<ul class="tags">${tags.map((tag) => `<li><a href="#${tag}">${tag.replaceAll('_', ' ')}</a></li>`).join('')}</ul>
${sections.join('\n')}`,
  });
}

function section(operation: AnyOperation, rest: RestRoute): string {
  const { properties = {}, required = [] } = inputSchema(operation);
  const inPath = pathParameters(rest.path);
  const rows = Object.entries(properties as Record<string, JsonSchema>).map(
    ([field, schema]) => `<tr><td><code>${escape(field)}</code></td>
<td>${inPath.includes(field) ? `path${mayHaveSlash(schema) ? ', a slash as <code>%2F</code>' : ''}` : rest.method === 'GET' ? 'query' : 'body'}${required.includes(field) ? ', required' : ''}</td><td>${escape(kindOf(schema))}</td><td>${escape(schema.description ?? '')}</td></tr>`,
  );
  return `<details id="${operation.name}"><summary><span class="method ${rest.method.toLowerCase()}">${rest.method}</span> <code>${breakable(API_PREFIX + rest.path)}</code> <span>${escape(operation.summary)}</span></summary>
<p>Name on tRPC and MCP: <code>${operation.name}</code>. Answers ${rest.status}${'acceptedWhen' in rest ? ' or 202' : ''}${operation.scope === 'public' ? '; needs no key' : ''}${operation.creates ? '; takes <code>Idempotency-Key</code>, there as <code>idempotency_key</code>' : ''}.</p>
${rows.length === 0 ? '' : `<div class="scroll" role="region" aria-label="Fields of ${operation.name}" tabindex="0"><table><thead><tr><th scope="col">Field</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`}
<p>${operation.list ? 'Each row of' : 'The value of'} <code>data</code>:</p><pre tabindex="0">${escape(JSON.stringify(outputSchema(operation), null, 2))}</pre></details>`;
}
