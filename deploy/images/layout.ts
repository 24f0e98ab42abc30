/** An OCI image layout: a directory of blobs, and an index of the images in it by name. Source: OCI image-spec 1.1. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Layer } from './layers.ts';

/** Architectures as images name them. */
export type Architecture = 'amd64' | 'arm64';

/** What is run, by whom, and what it says of itself. */
export interface ImageConfig {
  /** By number, so that an orchestrator sees that it is not root. */
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Asked now and then by Docker and podman, which read it although the specification does not have it. */
  readonly healthCheck: readonly string[];
}

/** One image. */
export interface Image {
  readonly name: string;
  readonly architecture: Architecture;
  readonly config: ImageConfig;
  readonly layers: readonly Layer[];
}

const MEDIA_TYPES = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** Times of health checks, in ns as Docker has them. Source: moby, HealthcheckConfig. */
const SECOND_NS = 1_000_000_000;
const HEALTH = { Interval: 10 * SECOND_NS, Timeout: 6 * SECOND_NS, StartPeriod: 60 * SECOND_NS, Retries: 3 } as const;

/** Directory of the blobs of a layout. */
export function blobsOf(layout: string): string {
  return join(layout, 'blobs/sha256');
}

/** Makes the directories of a layout. */
export function beginLayout(layout: string): void {
  mkdirSync(blobsOf(layout), { recursive: true });
  writeFileSync(join(layout, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
}

/** Names these images in the layout, whose layers lie there already. `timeS`: Unix. Answers the digest of each. */
export function finishLayout(
  layout: string,
  images: readonly Image[],
  timeS: number,
): Readonly<Record<string, string>> {
  const created = new Date(timeS * 1_000).toISOString();
  const manifests = images.map((image) => {
    const config = blob(layout, MEDIA_TYPES.config, configOf(image, created));
    const manifest = blob(layout, MEDIA_TYPES.manifest, {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config,
      layers: image.layers.map(({ digest, bytes }) => ({ mediaType: MEDIA_TYPES.layer, digest, size: bytes })),
      annotations: image.config.labels,
    });
    return {
      ...manifest,
      platform: { architecture: image.architecture, os: 'linux' },
      annotations: { 'org.opencontainers.image.ref.name': image.name },
    };
  });
  writeFileSync(join(layout, 'index.json'), json({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests }));
  return Object.fromEntries(manifests.map(({ digest, annotations }) => [Object.values(annotations)[0], digest]));
}

function configOf({ architecture, config, layers }: Image, created: string) {
  const present = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, {}]));
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: config.user,
      ExposedPorts: present(config.ports),
      Env: Object.entries(config.environment).map(([name, value]) => `${name}=${value}`),
      Entrypoint: config.entrypoint,
      Cmd: config.command,
      Volumes: present(config.volumes),
      Labels: config.labels,
      StopSignal: 'SIGTERM',
      Healthcheck: { Test: ['CMD', ...config.healthCheck], ...HEALTH },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ what }) => ({ created, created_by: what })),
  };
}

/** Writes a blob, and answers how others refer to it. */
function blob(layout: string, mediaType: string, content: object) {
  const bytes = Buffer.from(json(content));
  const hex = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(blobsOf(layout), hex), bytes);
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
}

function json(content: object): string {
  return JSON.stringify(content);
}
