/** Who this agent is: a UUID made once, and what enrolment gave it. */
import { readFileSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { EnrollAnswer } from '../../transport/protocol/enrollment.ts';
import { NodeId } from '../../transport/protocol/ids.ts';
import { writeDurably } from '../durable-file.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from '../problem.ts';

/**
 * What the file holds: before enrolment the id and the secret, so that a retry after a lost answer asks with the same
 * ones, and shows that it is the same machine (E1). `was_deleted`: an admin said so, and nobody took it back since.
 * `reached_by`: the URL that led to an admin when this was stored last.
 */
const IdentityFile = z.object({
  node_id: NodeId,
  enrollment: EnrollAnswer.nullable(),
  machine_secret: z.string().optional(),
  was_deleted: z.boolean().optional(),
  reached_by: z.string().optional(),
});
export type Identity = z.infer<typeof IdentityFile>;

/**
 * Reads the identity at `path`, or null when there is none. Throws an `AgentProblem` when it is damaged: a new one
 * would make a second node of this machine.
 */
export function readIdentity(path: string): Identity | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new AgentProblem(
      `The identity ${path} cannot be read: ${systemProblem(error)}${code === 'EACCES' ? '; run this as the user of the agent' : ''}`,
      EXIT_STATUS.failed,
    );
  }
  const parsed = IdentityFile.safeParse(parsedJson(text));
  if (parsed.success) return parsed.data;
  throw new AgentProblem(
    `The identity ${path} is damaged: restore it, or remove it and start with ENROLLMENT_KEY and a RECOVERY_KEY for the node`,
    EXIT_STATUS.failed,
  );
}

/** Bytes of the secret by which admins know a machine again. Source: E3, as long as other secrets. */
const MACHINE_SECRET_BYTES = 32;

/** A new identity, not stored yet. `node` is the one that a recovery key is for. */
export function newIdentity(node: NodeId | null): Identity {
  return {
    node_id: node ?? NodeId.parse(randomUUID()),
    enrollment: null,
    machine_secret: randomBytes(MACHINE_SECRET_BYTES).toString('base64url'),
  };
}

/** Stores it durably. Throws an `AgentProblem` when the disk does not take it. */
export function storeIdentity(path: string, identity: Identity): void {
  try {
    writeDurably(path, `${JSON.stringify(identity, null, 2)}\n`);
  } catch (error) {
    throw new AgentProblem(`The identity ${path} cannot be written: ${systemProblem(error)}`, EXIT_STATUS.failed);
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
