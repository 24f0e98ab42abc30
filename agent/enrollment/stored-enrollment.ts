/** What enrolment gave this machine, as it stands on its disk: admins change it while the agent runs. */
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { SshRecordingSettings } from '../../transport/protocol/ssh.ts';
import type { Log } from '../../transport/net/log.ts';
import { storeIdentity } from './identity.ts';
import { knownUrls } from './known-urls.ts';
import type { Enrolled } from './joining.ts';

/** An admin that says nothing of it has nothing recorded. */
const NOTHING_RECORDED: SshRecordingSettings = { mode: 'off', bytes_max: 1_024, ms_max: 1_000 };

/** One machine's. A change that the disk refuses is logged, and holds until the agent ends. */
export class StoredEnrollment {
  readonly #path: string;
  readonly #log: Log;
  #identity: Enrolled;
  /** As the disk was given it last: only the URL that led to an admin may be another one there. */
  #written: Enrolled;

  /** `identity` is what the file at `path` says. */
  constructor(path: string, identity: Enrolled, log: Log) {
    this.#path = path;
    this.#identity = identity;
    this.#written = identity;
    this.#log = log;
  }

  get identity(): Enrolled {
    return this.#identity;
  }

  get node(): NodeId {
    return this.#identity.node_id;
  }

  /** The API token of the node. */
  get token(): string {
    return this.#identity.enrollment.api_token;
  }

  /** Of the agent's own proxies. */
  get proxyPassword(): string {
    return this.#identity.enrollment.proxy_password;
  }

  /** As admins said last, and the one by which an admin was reached last. */
  get adminUrls(): readonly string[] {
    return urlsOf(this.#identity);
  }

  /** How many of these admins named. */
  get listedCount(): number {
    return this.#identity.enrollment.admin_urls.length;
  }

  /** Of the cluster that the node is in, as an admin said last. */
  get clusterName(): string {
    return this.#identity.enrollment.cluster_name;
  }

  /** As an admin said last. */
  get settings(): AgentSettings {
    return this.#identity.enrollment.settings;
  }

  /** What is recorded of SSH sessions, as an admin said last. */
  get recording(): SshRecordingSettings {
    return this.settings.ssh_recording ?? NOTHING_RECORDED;
  }

  /**
   * Settings that changed go to the disk, so that the next start finds the admins that are there by then. The URL that
   * led to the admin, where one welcomed this node, goes there only where the next start would know other admins by it:
   * a fsync at each welcome by another one would be one for each change of owner.
   */
  keep(settings: AgentSettings, clusterName: string | null, reachedBy: string | null): void {
    const enrollment = {
      ...this.#identity.enrollment,
      settings,
      admin_urls: settings.admin_urls.length > 0 ? settings.admin_urls : this.#identity.enrollment.admin_urls,
      cluster_name: clusterName ?? this.clusterName,
    };
    const next = { ...this.#identity, enrollment, ...(reachedBy !== null && { reached_by: reachedBy }) };
    const isKnown =
      isEqual(enrollment, this.#written.enrollment) && isEqual(urlsOf(next), urlsOf({ ...this.#written, enrollment }));
    if (isKnown) this.#identity = next;
    else this.#store(next);
  }

  /** Notes that an admin said whether somebody deleted this node: only what is said is ever undone. */
  noteDeletion(wasDeleted: boolean): void {
    if ((this.#identity.was_deleted ?? false) !== wasDeleted)
      this.#store({ ...this.#identity, was_deleted: wasDeleted });
  }

  #store(next: Enrolled): void {
    this.#identity = next;
    this.#written = next;
    try {
      storeIdentity(this.#path, next);
    } catch (error) {
      this.#log.warn({}, (error as Error).message);
    }
  }
}

function urlsOf({ enrollment, reached_by: reachedBy }: Enrolled): readonly string[] {
  return knownUrls(enrollment.admin_urls, reachedBy);
}

/** Of values that are made in one place each, so that their fields are in one order. */
function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
