/** Admins that share this database: who this one is, who else is there, and for how many nodes they have room. */
import { v4 } from 'uuid';
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import { NameTakenOver, type Clock } from '../../actors/ports.ts';
import type { AdminResource } from '../../actors/resources/admin.ts';
import type { AdminProblem } from '../../actors/resources/peer-admin.ts';
import type { Database } from '../connections/database.ts';
import { erlangNodeName } from './admin-names.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { ADMIN_SILENCE_MS_MAX } from '../ownership/leases.ts';
import { checkInAs, holderOf, register, type NameHolder, type OwnUrl, type SaidOfItself } from './registration.ts';
import type { AdminDirectory } from '../../api/admin-ports.ts';

/** What an admin says of itself. Its name is its own among its peers, and keeps its id over restarts. */
export interface AdminSelf {
  readonly name: string;
  /**
   * Asked anew at each check-in: they may become known only once it listens. Empty: not known yet. `mine`: those that
   * no other admin may have.
   */
  readonly urls: { own(): string; peer(): string; mine(): readonly OwnUrl[] };
  readonly adminClusterName: string;
  readonly version: string;
  readonly maxWireguardPeers: number;
  /** Of what it says to other admins. */
  readonly linkVersion: number;
}

/** What rows tell of this admin. */
type OwnResource = Omit<AdminResource, 'proxies'>;

/** The AdminDirectory port, and how this admin comes to be in it. */
export class AdminRegistry implements AdminDirectory {
  /** Of this process. */
  readonly instanceId = v4();
  readonly #database: Pick<Database, 'pool' | 'writes'>;
  readonly #self: AdminSelf;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #startedAt: Date;
  readonly #takenOver = Promise.withResolvers<NameTakenOver>();
  /** The name keeps its id over restarts: it is known after the first check-in. */
  #id: string | null = null;
  /** What does not work of its own. */
  #problems = (): readonly AdminProblem[] => [];
  /** The URLs that it checked in with last, as text. */
  #toldUrls: string | null = null;

  /** What a round of the leases waits for goes by `writes`, which no reader holds up; what is shown goes by `pool`. */
  constructor(database: Pick<Database, 'pool' | 'writes'>, self: AdminSelf, clock: Pick<Clock, 'nowMs'>) {
    this.#database = database;
    this.#self = self;
    this.#clock = clock;
    this.#startedAt = new Date(clock.nowMs());
  }

  /** Resolves when another process has taken the name over. */
  get takenOver(): Promise<NameTakenOver> {
    return this.#takenOver.promise;
  }

  /** Which process has the name by the rows; null: none. */
  holder(): Promise<NameHolder | null> {
    return holderOf(this.#database.writes, this.#self.name);
  }

  /**
   * Comes into the list in the place of this process of the name. Answers the id of the admin, which its name keeps;
   * null: yet another process was faster. Throws AnotherAdminGroup and SharedAdminUrl.
   */
  register(from: NameHolder | null): Promise<string | null> {
    return this.#register(from === null ? this.instanceId : from.instanceId);
  }

  /**
   * Writes that this admin is there, more often than ADMIN_SILENCE_MS_MAX. Throws NameTakenOver, also each time later,
   * when another process has the name.
   */
  async checkIn(): Promise<string> {
    const id =
      this.#id === null || this.#urlsAsText() !== this.#toldUrls
        ? await this.#register(this.instanceId) // where it is reached is known only once it listens
        : await checkInAs(this.#database.writes, this.#id, this.#said());
    if (id === null) throw await this.#lost();
    return id;
  }

  async #register(inPlaceOf: string | null): Promise<string | null> {
    const urls = this.#urlsAsText();
    const id = await register(this.#database.writes, this.#said(), this.#self.urls.mine(), inPlaceOf);
    if (id === null) return null;
    this.#id = id;
    this.#toldUrls = urls;
    return id;
  }

  async #lost(): Promise<NameTakenOver> {
    const { name } = this.#self;
    const holder = await this.holder();
    const since = holder === null ? '' : `, which started at ${new Date(holder.startedAtMs).toISOString()}`;
    const error = new NameTakenOver(
      `Another process has taken over ADMIN_NAME "${name}"${since}, as this one was not heard of: it ends. If both are to run, give each a name of its own.`,
    );
    this.#takenOver.resolve(error);
    return error;
  }

  #urlsAsText(): string {
    const { urls } = this.#self;
    return [urls.own(), urls.peer()].join(' ');
  }

  /** What it says of itself now. */
  #said(): SaidOfItself {
    const { urls, ...said } = this.#self;
    const peerUrl = urls.peer();
    return {
      ...said,
      url: urls.own(),
      peerUrl: peerUrl === '' ? null : peerUrl,
      instanceId: this.instanceId,
      startedAt: this.#startedAt,
      problems: this.#problems(),
    };
  }

  /** What does not work of its own, asked anew at each check-in from now on: nothing was told before. */
  tellProblems(problems: () => readonly AdminProblem[]): void {
    this.#problems = problems;
  }

  /** Removes this admin from the list, at shutdown; not another process that has its name now. */
  async checkOut(): Promise<void> {
    await rowsOf(
      this.#database.writes,
      'leaving the list of admins',
      sql`delete from admin where name = ${this.#self.name} and instance_id = ${this.instanceId}::uuid`,
    );
  }

  async me(): Promise<OwnResource> {
    const { name } = this.#self;
    const [row] = await rowsOf<{ id: string | null; peers: number }>(
      this.#database.pool,
      'looking up admins',
      sql`
      select (select id from admin where name = ${name}) as id, (select count(*)::int from admin
        where name <> ${name} and last_checked_in > clock_timestamp() - ${ADMIN_SILENCE_MS_MAX}::int * interval '1 ms') as peers`,
    );
    return this.#resource(row?.id ?? (await this.checkIn()), row?.peers ?? 0);
  }

  #resource(id: string, peers: number): OwnResource {
    const { name, urls, version, adminClusterName, maxWireguardPeers } = this.#self;
    return {
      id,
      name,
      version,
      role: 'admin',
      admin_cluster_name: adminClusterName,
      erlang_node_name: erlangNodeName({ name, url: urls.own() }),
      vpn_host_id: id, // its gateway is known by it
      vpn_hostname: null,
      max_wireguard_peers: maxWireguardPeers,
      admin_peer_count: peers,
      edge_node_capacity: edgeCapacity(maxWireguardPeers, peers + 1),
      last_computed_at: new Date(this.#clock.nowMs()).toISOString(),
    };
  }
}
