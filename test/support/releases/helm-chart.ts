/** The Helm chart, rendered by helm and held to the schemas of Kubernetes. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scaled } from '../busy.ts';
import { peerPath } from '../run/peers.ts';
import { ROOT } from '../source/source-text.ts';

const run = promisify(execFile);

/** One call of helm or of the reader, in ms. */
const CALL_MS_MAX = 60_000;

const CHART = join(ROOT, 'deploy/chart');

/** What the tests call the release, and where it is. */
export const RELEASE = { name: 'edge', namespace: 'fleet' } as const;

/** A helm that is made from its module alone takes itself for that of an older Kubernetes. */
const KUBERNETES = ['--kube-version', '1.33'];

/** Reads manifests, holds those of Kubernetes itself to its schemas of two versions, and prints all as JSON. */
const READER = `
import json, sys, yaml
from kubernetes_validate.utils import SchemaNotFoundError, ValidationError, all_versions, latest_version, validate
documents = [one for one in yaml.safe_load_all(sys.stdin) if one is not None]
problems, known = [], 0
for one in documents:
  for version in (all_versions()[0], latest_version()):
    try:
      validate(one, version, strict=True)
      known += 1
    except ValidationError as error:
      problems.append(f"{version} {one['kind']} {one['metadata']['name']}: {'.'.join(map(str, error.path))}: {error.message}")
    except SchemaNotFoundError:
      pass
print(json.dumps({'documents': documents, 'problems': problems, 'known': known // 2}))
`;

/** Values of the chart. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** A variable of a container. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold?: number;
}

/** Of a container what tests look at. */
export interface Container {
  readonly image: string;
  readonly env: readonly EnvironmentVariable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
}

/** Of a pod what tests look at. */
export interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly Container[];
    readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean };
    readonly terminationGracePeriodSeconds?: number;
    readonly volumes: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string; readonly items?: readonly { key: string; path: string }[] };
    }[];
  };
}

/** One manifest. `spec` holds more than this, and not every kind has all of it. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly serviceName: string;
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template: Pod;
    readonly rules: readonly { readonly host: string }[];
    readonly endpoints: readonly { readonly path: string; readonly relabelings?: readonly object[] }[];
  };
}

/** What came of values. */
export interface Rendered {
  readonly documents: readonly Manifest[];
  /** What Kubernetes would refuse, a line each. */
  readonly problems: readonly string[];
  /** Manifests whose schema is known. */
  readonly known: number;
}

const rendered = new Map<string, Promise<Rendered>>();

/** Renders the chart, once for the same values. Rejects with what helm says where it refuses them. */
export async function renderChart(values: ChartValues): Promise<Rendered> {
  const key = JSON.stringify(values);
  const known = rendered.get(key) ?? render(key);
  rendered.set(key, known);
  return known;
}

async function render(values: string): Promise<Rendered> {
  const words = ['template', RELEASE.name, CHART, '--namespace', RELEASE.namespace, ...KUBERNETES, '-f', '-'];
  const manifests = await said(await peerPath('helm'), words, values);
  return JSON.parse(await said(await peerPath('kubernetes-validate'), ['-c', READER], manifests)) as Rendered;
}

/** What helm says of values that are refused, without what it puts around it. */
export async function refusalOf(values: ChartValues): Promise<string> {
  const line = await renderChart(values).then(
    () => '',
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );
  return line
    .replace(/^Error: (?:execution error at \([^)]+\): )?/u, '')
    .replace('Use --debug flag to render out invalid YAML', '')
    .trim();
}

/** What `helm lint` finds. */
export async function lintChart(values: ChartValues): Promise<string> {
  const words = ['lint', '--strict', '--quiet', CHART, ...KUBERNETES, '-f', '-'];
  const found = said(await peerPath('helm'), words, JSON.stringify(values));
  return (await found.catch((error: unknown) => (error as { readonly stdout: string }).stdout)).trim();
}

/** The one manifest of this kind, and of this name where there are several. */
export function manifest({ documents }: Rendered, kind: string, name: string = RELEASE.name): Manifest {
  const found = documents.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`There is no ${kind} ${name}.`);
  return found;
}

/** The only container of a workload. */
export function containerOf({ spec }: Manifest): Container {
  const [container, ...others] = spec.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error('It should have one container.');
  return container;
}

async function said(program: string, words: readonly string[], stdin: string): Promise<string> {
  const running = run(program, words, { timeout: scaled(CALL_MS_MAX), maxBuffer: 16 * 1_048_576 });
  running.child.stdin?.on('error', () => {}); // it may end before it has read all
  running.child.stdin?.end(stdin);
  return (await running).stdout;
}
