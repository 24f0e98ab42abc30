/**
 * The reports of a running agent: made when somebody asks, one at a time, and uploaded to an admin from time to time.
 */
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { GivenConfig } from '../../config.ts';
import type { DataDirectory } from '../../data-directory.ts';
import { writeDurably } from '../../durable-file.ts';
import type { OwnPlace } from '../../listening.ts';
import { removeFile } from '../../removal.ts';
import { trimMemory } from '../../trim-memory.ts';
import type { SessionClock } from '../../session/ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import type { Refused } from '../../session/refusals.ts';
import { ReportUpload } from './report-upload.ts';
import type { AgentFacts, MachineFacts } from './doctor.ts';

/** What reports are made of. */
export interface ReportOptions
  extends
    Pick<MachineFacts, 'adminUrls' | 'relayMapUrls' | 'outbound'>,
    Pick<AgentFacts, 'services' | 'journal' | 'ports'> {
  readonly config: GivenConfig;
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
export class Reports {
  readonly #options: ReportOptions;
  readonly #upload: ReportUpload;
  /** The admin whose session began last, and when, in Unix time. */
  #adminUrl: string | null = null;
  #sinceMs: number | null = null;
  #underWay: Promise<Diagnosis> | null = null;

  constructor(options: ReportOptions) {
    const { token, clock, log, outbound } = options;
    this.#options = options;
    const diagnose = () => this.diagnose();
    this.#upload = new ReportUpload({
      diagnose,
      uploaded: trimMemory,
      outbound,
      token,
      clock,
      random: Math.random,
      log,
    });
  }

  /** A report on this machine now; those who ask meanwhile share it. */
  diagnose(): Promise<Diagnosis> {
    return (this.#underWay ??= this.#examine().finally(() => {
      this.#underWay = null;
    }));
  }

  /** The API listens here, so that `edge-agent doctor` finds it. */
  listening(place: OwnPlace | null): void {
    const { directory, log } = this.#options;
    if (place === null) return;
    try {
      writeDurably(directory.apiPort, `${place.port} ${place.address}\n`);
    } catch (error) {
      log.debug({ error }, 'The place of the API was not noted for `edge-agent doctor`');
    }
  }

  /** A session with the admin at this URL is live. */
  connected(adminUrl: string): void {
    this.#adminUrl = adminUrl;
    this.#sinceMs = Date.now();
    this.#upload.connected(adminUrl);
  }

  close(): void {
    this.#upload.close();
    removeFile(this.#options.directory.apiPort);
  }

  /** The checks are loaded with the first report: until then an agent is as small as it was. */
  async #examine(): Promise<Diagnosis> {
    const { config, version, directory, adminUrls, relayMapUrls, services, journal, ports } = this.#options;
    const { isLive, refusal, outbound } = this.#options;
    const { diagnoseAgent } = await import('./doctor.ts');
    return diagnoseAgent(
      {
        config,
        version,
        directory: directory.path,
        hostKeyPath: directory.sshHostKey,
        adminUrls,
        relayMapUrls,
        outbound,
      },
      {
        services,
        journal,
        ports,
        session: () => ({ isLive: isLive(), refusal: refusal(), adminUrl: this.#adminUrl, sinceMs: this.#sinceMs }),
      },
    );
  }
}
