/** Values for the Helm chart: some that do, and some that do not. */
import { randomBytes } from 'node:crypto';
import type { ChartValues } from '../../support/releases/helm-chart.ts';

/** What has to be said. */
export const LEAST = {
  image: { registry: 'registry.example.com' },
  urls: ['https://edge.example.com'],
  secrets: { existingSecret: 'edge-keys' },
} as const satisfies ChartValues;

/** All of it. */
export const MOST = {
  ...LEAST,
  image: { registry: 'registry.example.com/tools/', tag: '9.9.9', pullSecrets: [{ name: 'pull' }] },
  replicas: 2,
  hostPerAdmin: { domain: 'admins.example.com' },
  settings: { LOG_LEVEL: 'debug', RELEASES_BYTES_MAX: 1_099_511_627_776, API_DOCS_ENABLED: false },
  secrets: {
    values: {
      DATABASE_URL: 'postgresql://edge:secret@db:5432/edge',
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      MASTER_KEY: randomBytes(32).toString('hex'),
      METRICS_KEY: randomBytes(32).toString('hex'),
    },
  },
  tls: { existingSecret: 'edge-tls' },
  trustedAuthorities: { existingSecret: 'authority' },
  trustedProxies: ['10.0.0.7', '10.1.0.0/28'],
  service: { type: 'LoadBalancer', annotations: { a: 'b' } },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'edge-ingress-tls' },
  relay: { enabled: true, hostname: 'relay.example.com', tlsSecret: 'relay-tls', service: { annotations: { a: 'b' } } },
  networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }], proxiesFrom: [{ namespaceSelector: {} }] },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' }, tlsConfig: { insecureSkipVerify: true } },
  serviceAccount: { annotations: { role: 'publisher' } },
  volumes: [{ name: 'broker', secret: { secretName: 'broker' } }],
  volumeMounts: [{ name: 'broker', mountPath: '/run/broker' }],
  podAnnotations: { a: 'b' },
  podLabels: { team: 'edge' },
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  priorityClassName: 'system-cluster-critical',
} as const satisfies ChartValues;

const { existingSecret } = LEAST.secrets;

/** What would not do, and the line that says so. */
export const REFUSED: readonly (readonly [values: ChartValues, line: RegExp])[] = [
  [{ ...LEAST, image: {} }, /^image\.registry is empty: it should be where the images .* were pushed/u],
  [{ ...LEAST, urls: [] }, /^urls is empty: it should be where machines reach the admins/u],
  [
    { ...LEAST, secrets: {} },
    /^secrets\.values\.DATABASE_URL is empty: it should be the secret itself, .*, or secrets\.existingSecret/u,
  ],
  [
    { ...LEAST, secrets: { values: { ...MOST.secrets.values, MASTER_KEY: '' } } },
    /^secrets\.values\.MASTER_KEY is empty: .* openssl rand -hex 32/u,
  ],
  [
    { ...LEAST, secrets: { existingSecret, keys: { ENCRYPTION_KEY: '' } } },
    /^secrets\.keys\.ENCRYPTION_KEY is empty: it should be the key of the Secret edge-keys that holds it/u,
  ],
  [
    { ...LEAST, secrets: { ...MOST.secrets, existingSecret } },
    /^secrets\.existingSecret and secrets\.values are both/u,
  ],
  [{ ...LEAST, stop: { graceSeconds: 30 } }, /^stop\.graceSeconds is 30: it should be at least 30 more than/u],
  [{ ...LEAST, serviceMonitor: { enabled: true } }, /^serviceMonitor\.enabled needs METRICS_KEY: secrets\.keys\./u],
  [{ ...LEAST, hostPerAdmin: { domain: 'example.com' } }, /^hostPerAdmin\.domain is set without ingress\.enabled/u],
  [{ ...LEAST, relay: { enabled: true } }, /^relay\.hostname is empty/u],
  [{ ...LEAST, relay: { enabled: true, hostname: 'relay.example.com' } }, /^relay\.tlsSecret is empty/u],
];

/** What is misspelt, of the wrong kind, or no setting; and what has to be in the line about it. */
export const MISSPELT: readonly (readonly [values: ChartValues, words: readonly string[]])[] = [
  [{ ...LEAST, replica: 2 }, ["'replica'"]],
  [{ ...LEAST, ingress: { enabeld: true } }, ['/ingress', "'enabeld'"]],
  [{ ...LEAST, replicas: 'three' }, ['/replicas']],
  [{ ...LEAST, urls: ['edge.example.com'] }, ['/urls/0']],
  [{ ...LEAST, settings: { LOG_LEVL: 'debug' } }, ['/settings', "'LOG_LEVL'"]],
  [{ ...LEAST, settings: { ADMIN_NAME: 'x' } }, ['/settings', "'ADMIN_NAME'"]],
  [{ ...LEAST, settings: { MASTER_KEY: 'x' } }, ['/settings', "'MASTER_KEY'"]],
  [{ ...LEAST, secrets: { existingSecret: 'x', keys: { MASTER: 'x' } } }, ['/secrets/keys', "'MASTER'"]],
];
