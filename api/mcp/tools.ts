/** Operations as MCP tools: the same name, input and refusals as on the other surfaces. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { retryAfterSecondsOf, type Refusal, type Result } from '../../actors/refusal.ts';
import type { AnyOperation } from '../operation.ts';
import { outputSchema } from '../schemas.ts';
import { toolInputs, toolOutput, type ToolInput } from './tool-schemas.ts';

/** Where a refusal stands in the `_meta` of a result, as on the other surfaces, for programs. */
export const REFUSAL_META = 'edge-fleet-control/error';

/** The tools that stand for operations, in their order. */
export function toolsOf(operations: readonly AnyOperation[]): readonly Tool[] {
  const inputs = toolInputs(operations);
  return operations.map((operation) => toolOf(operation, inputs.get(operation.name) ?? { type: 'object' }));
}

/**
 * Hints are always given, since their defaults assume the worst; of a tool that only reads the protocol asks for two of
 * them.
 */
function toolOf(operation: AnyOperation, input: ToolInput): Tool {
  const { name, summary, kind, hints } = operation;
  const output = toolOutput(operation);
  return {
    name,
    description: summary,
    inputSchema: input as Tool['inputSchema'],
    ...(output !== null && { outputSchema: output }),
    annotations: {
      readOnlyHint: kind === 'query',
      ...(kind === 'mutation' && { destructiveHint: hints.destructive, idempotentHint: hints.idempotent }),
      openWorldHint: hints.openWorld ?? false,
    },
  };
}

/**
 * What a call answers: the value as structured content and as text, or the refusal as an error that the model can read.
 */
export function toolResult(operation: AnyOperation, result: Result<unknown>, requestId: string): CallToolResult {
  if (!result.ok) return refused(result.refusal, requestId);
  // Structured content is an object.
  const isObject = operation.list || outputSchema(operation).type === 'object';
  if (!isObject) return { content: [{ type: 'text', text: 'Done.' }] };
  return { content: [{ type: 'text', text: JSON.stringify(result.value) }], structuredContent: result.value };
}

/**
 * No structured content: a refusal does not fit the tool's output schema, and clients of version 1 of the SDK then
 * throw their own error in its place.
 */
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
  const words = [
    `${code}: ${message}`,
    ...(details === undefined ? [] : [JSON.stringify(details)]),
    ...(retryAfterSeconds === undefined ? [] : [`Retry after ${retryAfterSeconds} s.`]),
    `(request ${requestId})`,
  ];
  return { isError: true, content: [{ type: 'text', text: words.join(' ') }], _meta: { [REFUSAL_META]: error } };
}
