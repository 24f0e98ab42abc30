/** Text of a WebSocket message to a frame and back. A bad frame is a value, never a throw. */
import type { z } from 'zod';
import { AdminFrame, AgentFrame } from './frames.ts';
import type { AdminFrameBody, AgentFrameBody } from './frames.ts';

/** Why a message is no frame: one line, names the field, repeats nothing of the payload. */
export interface BadFrame {
  readonly ok: false;
  readonly problem: string;
}
/** A frame, or why it is none. */
export type Decoded<F> = { readonly ok: true; readonly frame: F } | BadFrame;

/** Reads a message from an agent. */
export function decodeAgentFrame(text: string): Decoded<AgentFrame> {
  return decode(AgentFrame, text);
}

/** Reads a message from an admin. */
export function decodeAdminFrame(text: string): Decoded<AdminFrame> {
  return decode(AdminFrame, text);
}

/** Writes a frame with its sequence number. */
export function encodeFrame(body: AgentFrameBody | AdminFrameBody, seq: number): string {
  return JSON.stringify({ seq, ...body });
}

// JSON.parse takes any depth without recursion, and no schema here recurses into unknown values, so nesting cannot
// exhaust the stack.
function decode<F>(schema: z.ZodType<F>, text: string): Decoded<F> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'not JSON' };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, frame: parsed.data };
  const issue = parsed.error.issues[0];
  const at = issue?.path.map(String).join('.') ?? '';
  return { ok: false, problem: `${at === '' ? 'frame' : at}: ${issue?.code ?? 'invalid'}` };
}
