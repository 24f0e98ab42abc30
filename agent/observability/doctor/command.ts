/** `edge-agent doctor`: a report on this machine, by the agent that runs on it, or without one. */
import { constants, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { refuseUpgrade } from '../../../transport/net/streams/unasked-upgrade.ts';
import { AGENT_DIAGNOSTICS_PATH } from '../../../transport/protocol/agent-api.ts';
import { Diagnosis, DIAGNOSIS_BYTES_MAX } from '../../../transport/protocol/diagnosis.ts';
import { decodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import { apiKeyOf } from '../api-key.ts';
import type { GivenConfig } from '../../config.ts';
import { API_PORT_FILE, IDENTITY_FILE, PID_FILE, SSH_HOST_KEY_FILE } from '../../data-directory.ts';
import type { OwnPlace } from '../../listening.ts';
import { createOutbound } from '../../outbound/outbound.ts';
import { readIdentity, type Identity } from '../../enrollment/identity.ts';
import { knownUrls } from '../../enrollment/known-urls.ts';
import { diagnose, DIAGNOSIS_MS_MAX, failed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';
import { connectionChecks, loginCheck, ownUpdaterCheck, systemPlaces } from './doctor.ts';
import type { MachineFacts, SystemPlaces } from './doctor.ts';
import { diskCheck, resourceChecks, systemCheck } from './machine.ts';
import type { NodeStanding } from './standing.ts';

/** The running agent is waited for so long, in ms: a little longer than it takes itself. */
const ASK_MS_MAX = DIAGNOSIS_MS_MAX + 2_000;

/**
 * The report of the agent of this data directory; without one that answers, what can be seen from outside. Throws an
 * `AgentProblem` when the identity cannot be read.
 */
export async function diagnoseMachine(
  config: GivenConfig,
  version: string,
  places: SystemPlaces = systemPlaces(),
): Promise<Diagnosis> {
  const directory = config.AGENT_DATA_DIR;
  const identity = readIdentity(join(directory, IDENTITY_FILE));
  const pid = runningPid(directory);
  const told =
    pid === null || identity?.enrollment == null ? null : await askAgent(directory, identity.enrollment.api_token);
  if (told !== null) return told;

  const facts: MachineFacts = {
    config,
    version,
    directory,
    hostKeyPath: join(directory, SSH_HOST_KEY_FILE),
    adminUrls: () => config.ADMIN_URLS ?? urlsOf(identity) ?? keyUrls(config),
    relayMapUrls: () => identity?.enrollment?.settings.derp_map_urls ?? null,
    outbound: createOutbound(config),
  };
  return diagnose([
    ...connectionChecks(facts, places, null),
    {
      name: 'agent',
      look: async (signal) => agentFinding(identity, pid, await standing(facts, identity, pid, signal)),
    },
    existingDisk(directory),
    ...resourceChecks(places),
    loginCheck(facts, places, null),
    ownUpdaterCheck(facts),
    systemCheck({ version }),
  ]);
}

/** The process of the agent of this directory; null when none runs. */
function runningPid(directory: string): number | null {
  const pid = numberIn(join(directory, PID_FILE));
  if (pid === null) return null;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : null;
  }
}

function numberIn(path: string): number | null {
  try {
    const number = Number(readFileSync(path, 'utf8'));
    return Number.isSafeInteger(number) && number > 0 ? number : null;
  } catch {
    return null;
  }
}

/** Where the API listens, as its agent noted it: port and address of loopback, of an older agent the port alone. */
function apiPlaceIn(path: string): OwnPlace | null {
  try {
    const [port, address = 'localhost'] = readFileSync(path, 'utf8').trim().split(' ');
    return { port: Number(port), address };
  } catch {
    return null;
  }
}

/** Null: it does not answer as it should. */
async function askAgent(directory: string, token: string): Promise<Diagnosis | null> {
  const place = apiPlaceIn(join(directory, API_PORT_FILE));
  if (place === null) return null;
  const { request } = process.getBuiltinModule('node:http');
  try {
    const signal = AbortSignal.timeout(ASK_MS_MAX);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(
        {
          host: place.address,
          port: place.port,
          path: AGENT_DIAGNOSTICS_PATH,
          headers: { authorization: `Bearer ${apiKeyOf(token)}` },
          signal,
          agent: false,
        },
        resolve,
      );
      refuseUpgrade(asked).on('error', reject).end();
    });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of answer) {
      bytes += (piece as Buffer).length;
      if (bytes > DIAGNOSIS_BYTES_MAX) return null;
      pieces.push(piece as Buffer);
    }
    const parsed = Diagnosis.safeParse(JSON.parse(Buffer.concat(pieces).toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

function urlsOf(identity: Identity | null): readonly string[] | null {
  return identity?.enrollment == null ? null : knownUrls(identity.enrollment.admin_urls, identity.reached_by);
}

function keyUrls({ ENROLLMENT_KEY: key }: GivenConfig): readonly string[] {
  return key === undefined ? [] : (decodeEnrollmentBlob(key)?.admin_urls ?? []);
}

/** Asked only where no agent runs that would know: its node may have been deleted while it did not. */
async function standing(
  { adminUrls, outbound }: MachineFacts,
  identity: Identity | null,
  pid: number | null,
  signal: AbortSignal,
): Promise<NodeStanding> {
  const token = identity?.enrollment?.api_token;
  if (pid !== null || token === undefined) return null;
  const { askStanding } = await import('./standing.ts');
  return askStanding({ adminUrls: adminUrls(), token, outbound }, signal);
}

function agentFinding(identity: Identity | null, pid: number | null, known: NodeStanding): Finding {
  const details = { is_enrolled: identity?.enrollment != null, process: pid };
  if (pid !== null && !details.is_enrolled)
    return failed(
      `The agent of this machine runs (process ${pid}) and has not been let in yet.`,
      'See the check `admins`, and its log, which says what came of each try. It goes on trying.',
      details,
    );
  if (pid !== null)
    return failed(
      `The agent of this machine runs (process ${pid}) and does not answer.`,
      'Look into its log, and restart it. What is below was seen without it.',
      details,
    );
  if (!details.is_enrolled)
    return warned(
      'This machine is not enrolled, and no agent runs.',
      'Start `edge-agent up` with an ENROLLMENT_KEY. If it is enrolled, give AGENT_DATA_DIR and run this as the same user.',
      details,
    );
  if (known === 'deleted' || (known === null && identity?.was_deleted === true))
    return failed(
      'No agent runs on this machine, and its node was deleted at the admin.',
      '`edge-agent leave` and a new ENROLLMENT_KEY make this machine another node.',
      details,
    );
  if (known === 'unknown')
    return failed(
      'No agent runs on this machine, and the admin does not know its node: its database is another than before, or another machine was enrolled as it.',
      'Start it with an ENROLLMENT_KEY that has a use left: `edge-agent up`, or its service. It joins again under its id.',
      details,
    );
  return failed(
    'No agent runs on this machine, though it is enrolled.',
    'Start it: `edge-agent up`, or its service. What is below was seen without it.',
    details,
  );
}

/** The directory need not be there before the first start. */
function existingDisk(directory: string): Check {
  const check = diskCheck({ directory });
  return {
    name: check.name,
    look: async (signal) => {
      try {
        return await check.look(signal);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT' && !(await mayMake(directory)))
          return failed(
            'The data directory of the agent is not there, and this user may not make it.',
            'Run this as the user of the agent, or set AGENT_DATA_DIR to a directory of that user.',
          );
        if (code === 'ENOENT')
          return warned(
            'The data directory of the agent is not there yet.',
            'The first `edge-agent up` makes it. AGENT_DATA_DIR says where.',
          );
        if (code === 'EACCES' || code === 'EPERM')
          return failed(
            'The data directory of the agent is closed to this user.',
            'Run this as the user of the agent.',
          );
        throw error;
      }
    },
  };
}

/** Whether the nearest directory above that is there takes a new one. */
async function mayMake(directory: string): Promise<boolean> {
  try {
    await access(dirname(directory), constants.W_OK | constants.X_OK);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && mayMake(dirname(directory));
  }
}
