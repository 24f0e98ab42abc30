/**
 * Releases that operations are asked about: one small repository, which grows by a version for each call that wants
 * one.
 */
import { publishRepository } from '../../../cli/release/publish.ts';
import { createClient } from '../../../cli/service/client.ts';
import { createReleases, type ReleaseFixture } from '../../support/releases/releases.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import type { Scope } from '../../support/scope.ts';

/** Metadata as `publish_release_metadata` takes it, by field. */
export type SignedTexts = ReturnType<ReleaseFixture['repository']['metadata']>;

/** Releases of one service. */
export class ParityReleases {
  readonly #fixture: Promise<ReleaseFixture>;
  readonly #url: string;
  #versions = 0;

  constructor(scope: Scope, url: string) {
    this.#fixture = createReleases(temporaryDirectory(scope));
    this.#fixture.catch(() => {}); // whoever asks for it is told
    this.#url = url;
  }

  /** What is signed now. */
  async signed(): Promise<SignedTexts> {
    return (await this.#fixture).repository.metadata();
  }

  /** A new version that is published, and to which no channel points. */
  async publish(): Promise<string> {
    const fixture = await this.#fixture;
    this.#versions += 1;
    const version = `1.0.${this.#versions}`;
    await fixture.add({ version });
    const connection = { url: this.#url, key: FLEET_KEYS.MASTER_KEY };
    await publishRepository(fixture.repository, { api: createClient(connection), connection });
    return version;
  }
}
