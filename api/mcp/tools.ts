/** Operations as MCP tools: the same name, input and refusals as on the other surfaces. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { retryAfterSecondsOf, type Refusal, type Result } from '../../actors/refusal.ts';
import type { AnyOperation } from '../operation.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../schemas.ts';

/** The tool that stands for an operation. Hints are always given: their defaults assume the worst. */
export function toolOf(operation: AnyOperation): Tool {
  const { name, summary, kind, hints } = operation;
  const output = structuredOutput(operation);
  return {
    name,
    description: summary,
    inputSchema: { ...inputSchema(operation), type: 'object' } as Tool['inputSchema'],
    ...(output !== null && { outputSchema: output }),
    annotations: {
      readOnlyHint: kind === 'query',
      destructiveHint: kind === 'mutation' && hints.destructive,
      idempotentHint: kind === 'query' || hints.idempotent,
      openWorldHint: hints.openWorld ?? false,
    },
  };
}

/**
 * What a call answers: the value as structured content and as text, or the refusal as an error that the model can read.
 */
export function toolResult(operation: AnyOperation, result: Result<unknown>, requestId: string): CallToolResult {
  if (!result.ok) return refused(result.refusal, requestId);
  if (structuredOutput(operation) === null) return { content: [{ type: 'text', text: 'Done.' }] };
  return { content: [{ type: 'text', text: JSON.stringify(result.value) }], structuredContent: result.value };
}

function refused(refusal: Refusal, requestId: string): CallToolResult {
  const { code, message, details } = refusal;
  const retryAfterSeconds = retryAfterSecondsOf(refusal);
  const error = {
    code,
    message,
    details: details ?? null,
    request_id: requestId,
    ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
  };
  const text = `${code}: ${message}${details === undefined ? '' : ` ${JSON.stringify(details)}`}`;
  return { isError: true, content: [{ type: 'text', text }], structuredContent: { error } };
}

/** Structured content is an object. Null for an operation that answers nothing. */
function structuredOutput(operation: AnyOperation): JsonSchema | null {
  const row = outputSchema(operation);
  if (operation.list)
    return {
      type: 'object',
      properties: { data: { type: 'array', items: row }, pagination: PAGINATION },
      required: ['data', 'pagination'],
    };
  return row.type === 'object' ? row : null;
}

const nullablePage: JsonSchema = { anyOf: [{ type: 'integer' }, { type: 'null' }] };
const PAGINATION: JsonSchema = {
  type: 'object',
  properties: {
    page: { type: 'integer' },
    page_size: { type: 'integer' },
    total_count: { type: 'integer' },
    total_pages: { type: 'integer' },
    has_next: { type: 'boolean' },
    has_prev: { type: 'boolean' },
    next_page: nullablePage,
    prev_page: nullablePage,
  },
  required: ['page', 'page_size', 'total_count', 'total_pages', 'has_next', 'has_prev', 'next_page', 'prev_page'],
};
