/**
 * What an admin answers to a ping: what it does that its link version does not say, as commits between releases have
 * one version. It is sealed as every answer is, so nobody else can say it or leave it out.
 */
import { z } from 'zod';

const Pong = z.object({ opens_relayed: z.boolean() });

/** What this admin answers. `opens_relayed`: it opens sealed bytes of agents that are passed on to it. */
export const PONG: z.infer<typeof Pong> = { opens_relayed: true };

/** What the other side answered. One of before says null, and does nothing of this. */
export function readPong(value: unknown): z.infer<typeof Pong> {
  return Pong.safeParse(value).data ?? { opens_relayed: false };
}
