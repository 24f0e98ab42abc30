/**
 * The reports of a running agent: made when somebody asks, one at a time, and uploaded to an admin from time to time.
 */
import { rmSync } from 'node:fs';
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { AgentConfig } from '../../config.ts';
import type { DataDirectory } from '../../data-directory.ts';
import { writeDurably } from '../../durable-file.ts';
import { trimMemory } from '../../memory.ts';
import type { SessionClock } from '../../ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import type { Refused } from '../../session/refusals.ts';
import { createReportUpload } from './report-upload.ts';
import type { AgentFacts, MachineFacts } from './doctor.ts';

/** What reports are made of. */
export interface ReportOptions
  extends Pick<MachineFacts, 'adminUrls' | 'relayMapUrls'>, Pick<AgentFacts, 'services' | 'journal' | 'ports'> {
  readonly config: AgentConfig;
  readonly version: string;
  readonly directory: Pick<DataDirectory, 'path' | 'sshHostKey' | 'apiPort'>;
  /** The node's API token, for reports that are uploaded. */
  readonly token: string;
  readonly isLive: () => boolean;
  readonly refusal: () => Refused | null;
  readonly clock: SessionClock;
  readonly log: Log;
}

/** What the agent calls. No method throws. */
export interface Reports {
  /** A report on this machine now; those who ask meanwhile share it. */
  diagnose(): Promise<Diagnosis>;
  /** The API listens on this port, so that `edge-agent doctor` finds it. */
  listening(port: number | undefined): void;
  /** A session with the admin at this URL is live. */
  connected(adminUrl: string): void;
  close(): void;
}

/** No report yet. */
export function createReports({
  config,
  version,
  directory,
  token,
  isLive,
  refusal,
  clock,
  log,
  ...facts
}: ReportOptions): Reports {
  let adminUrl: string | null = null;
  let sinceMs: number | null = null;
  let underWay: Promise<Diagnosis> | null = null;
  const machine = {
    config,
    version,
    directory: directory.path,
    hostKeyPath: directory.sshHostKey,
    adminUrls: facts.adminUrls,
    relayMapUrls: facts.relayMapUrls,
  };
  const agent = {
    services: facts.services,
    journal: facts.journal,
    ports: facts.ports,
    session: () => ({ isLive: isLive(), refusal: refusal(), adminUrl, sinceMs }),
  };
  const diagnose = (): Promise<Diagnosis> =>
    (underWay ??= examined().finally(() => {
      underWay = null;
    }));
  const upload = createReportUpload({ diagnose, uploaded: trimMemory, token, clock, random: Math.random, log });

  /** The checks are loaded with the first report: until then an agent is as small as it was. */
  async function examined(): Promise<Diagnosis> {
    const { diagnoseAgent } = await import('./doctor.ts');
    return diagnoseAgent(machine, agent);
  }

  return {
    diagnose,
    listening(port) {
      if (port === undefined) return;
      try {
        writeDurably(directory.apiPort, `${port}\n`);
      } catch (error) {
        log.debug({ error }, 'The port of the API was not noted for `edge-agent doctor`');
      }
    },
    connected(url) {
      adminUrl = url;
      sinceMs = Date.now();
      upload.connected(url);
    },
    close() {
      upload.close();
      rmSync(directory.apiPort, { force: true });
    },
  };
}
