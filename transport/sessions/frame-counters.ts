/** Frames of control sessions, counted by type: how many came, and how many went out. */
import { AdminFrame, AgentFrame, type AdminFrameBody } from '../protocol/frames.ts';

/** What came and was no frame: not JSON, of an unknown type, out of order, or too much. */
export const INVALID = 'invalid';

/** Since the start. Every type is there, at zero if there was none. */
export interface FrameCounters {
  readonly in: Record<AgentFrame['type'] | typeof INVALID, number>;
  readonly out: Record<AdminFrameBody['type'], number>;
}

/** All at zero. */
export function createFrameCounters(): FrameCounters {
  return { in: zeros([...AgentFrame.options.map(typeOf), INVALID]), out: zeros(AdminFrame.options.map(typeOf)) };
}

function typeOf<Type extends string>({ shape }: { readonly shape: { readonly type: { readonly value: Type } } }): Type {
  return shape.type.value;
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
