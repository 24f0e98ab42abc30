/** A client that subscribes to all events of a fleet, and agents that bring them about. */
import test from 'ava';
import type { Pool } from 'pg';
import type { Envelope, EventType } from '../../../actors/events.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { Registration } from '../../../transport/protocol/agent-description.ts';
import { socketClient } from '../../support/api/trpc-clients.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AgentProgram } from '../../support/fleet/agent-program.ts';
import { enrollment, enrollRaw, type RawAgent, type RawSession } from '../../support/fleet/raw-agent.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { openPool } from '../../support/database/pool.ts';

/** What all tests of events share. */
export class EventsFixture {
  /** All that came so far, in order. */
  readonly events: Envelope[] = [];
  /** What must be in no event. */
  readonly secrets: string[] = Object.values(FLEET_KEYS);
  readonly #scope = createScope();
  #started: { readonly fleet: Fleet; readonly pool: Pool } | null = null;

  /** Starts a fleet and subscribes, before the tests of this file; ends after them. */
  static declare(): EventsFixture {
    const fixture = new EventsFixture();
    test.before('a fleet starts, and a client subscribes to all of its events', () => fixture.#start());
    test.after.always('the fleet ends', () => fixture.#scope.end());
    return fixture;
  }

  get fleet(): Fleet {
    return this.#present.fleet;
  }

  /** The database of the fleet. */
  get pool(): Pool {
    return this.#present.pool;
  }

  get #present(): { readonly fleet: Fleet; readonly pool: Pool } {
    if (this.#started === null) throw new Error('the fleet did not start');
    return this.#started;
  }

  /** The events of this type whose data has these values, once there are as many as wanted. */
  async told(
    type: EventType,
    data: Readonly<Record<string, unknown>>,
    count = 1,
  ): Promise<readonly [Envelope, ...Envelope[]]> {
    const found = () =>
      this.events.filter(
        (event) => event.type === type && Object.entries(data).every(([field, value]) => event.data[field] === value),
      );
    return until(`${count} ${type} with ${JSON.stringify(data)}`, () => {
      const [first, ...more] = found();
      return first !== undefined && more.length >= count - 1 ? ([first, ...more] as const) : null;
    });
  }

  /** The only one. */
  async toldOnce(type: EventType, data: Readonly<Record<string, unknown>>): Promise<Envelope> {
    return (await this.told(type, data))[0];
  }

  /** An agent that is healthy; it enrols with this key if it is given one. */
  async healthyAgent(enrollmentKey?: string): Promise<AgentProgram> {
    const agent = await this.fleet.addAgent(enrollmentKey === undefined ? {} : { ENROLLMENT_KEY: enrollmentKey });
    await agent.live();
    await this.fleet.reaches(agent, 'healthy');
    return agent;
  }

  /** An agent by hand. */
  async raw(): Promise<RawAgent> {
    const agent = await enrollRaw(this.#scope, this.fleet);
    this.secrets.push(agent.api_token, agent.proxy_password);
    return agent;
  }

  /** Opens a session of an agent by hand that describes itself so. */
  async greet(agent: RawAgent, registration: Partial<Registration> = {}): Promise<RawSession> {
    const session = await agent.connect({ greets: false });
    const { version, id_type, ports, self_update_enabled } = enrollment('') as unknown as Registration;
    session.send({
      type: 'hello',
      protocol: 1,
      node: agent.node_id,
      registration: { version, id_type, ports, self_update_enabled, ...registration },
      report: { services: [] },
      holding: [],
    });
    await session.frame('welcome');
    return session;
  }

  /** An enrolment key of the fleet's cluster. */
  async key(body: object): Promise<EnrollmentKeyResource> {
    const made = await this.fleet.key(body);
    this.secrets.push(made.key);
    return made;
  }

  async #start(): Promise<void> {
    const scope = this.#scope;
    const connection = await createDatabase(scope);
    const pool = openPool(scope, { ...connection, max: 1 });
    const env = { NODE_UNREACHABLE_AFTER_MS: '1000', CORE_NAME: 'plant-7' };
    this.#started = { pool, fleet: await startFleet(scope, { connection, env }) };
    const client = socketClient(scope as never, this.fleet.admin().url, FLEET_KEYS.API_KEY);
    const subscribed = Promise.withResolvers<void>();
    const subscription = client.events.watch.subscribe(
      {},
      {
        onData: ({ data }) => {
          if (data.type === 'started') subscribed.resolve();
          else this.events.push(...data.events);
        },
        onError: subscribed.reject,
      },
    );
    scope.teardown(() => subscription.unsubscribe());
    await subscribed.promise;
  }
}
