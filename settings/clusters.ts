/** Settings of clusters: their names, domains and ranges of addresses. */
import { z } from 'zod';
import type { Settings } from './environment.ts';
import { flag, integer, list, text } from './fields.ts';
import { DOMAIN, label } from './names.ts';

/** Clusters and names. */
export const CLUSTER_SETTINGS = {
  EDGE_VPN_DEFAULT_DOMAIN: text({
    max: 150,
    pattern: DOMAIN,
    expected: 'a lower-case domain name of at most 150 characters',
  })
    .default('edge.internal')
    .describe('Domain of all node host names.'),
  CLUSTER_AUTO_GENERATED_V4_RANGES: list()
    .refine((ranges) => ranges.every((range) => z.cidrv4().safeParse(range).success))
    .meta({ expected: 'a comma-separated list of IPv4 ranges, such as 100.64.0.0/10' })
    .default(['100.64.0.0/10'])
    .describe('Ranges from which subnets are taken for clusters created without one.'),
  CLUSTER_V4_SUBNET_PREFIX: integer({ min: 8, max: 30 }).default(24).describe('Prefix length of such a subnet.'),
  DEFAULT_CLUSTER_NAME: label(24)
    .refine((name) => name !== 'default')
    .meta({
      expected:
        'a cluster name (at most 24 lower-case letters, digits and hyphens, with a letter or digit at both ends) other than default',
    })
    .optional()
    .meta({ defaultText: 'none', description: 'Cluster that the name default stands for.' }),
  PUBLIC_ENROLLMENT_KEY_ENABLED: flag()
    .default(false)
    .describe(
      'Whether anyone may create a one-use enrolment key for DEFAULT_CLUSTER_NAME, without a key of their own.',
    ),
};

/** What no setting of clusters alone shows to be wrong. */
export function clusterProblems(read: Settings<typeof CLUSTER_SETTINGS>): readonly string[] {
  const tooSmall = read.CLUSTER_AUTO_GENERATED_V4_RANGES.find(
    (range) => Number(range.split('/')[1]) > read.CLUSTER_V4_SUBNET_PREFIX,
  );
  return tooSmall === undefined
    ? []
    : [
        `CLUSTER_V4_SUBNET_PREFIX is "${read.CLUSTER_V4_SUBNET_PREFIX}": it should be at least the prefix length of every range in CLUSTER_AUTO_GENERATED_V4_RANGES, also of ${tooSmall}`,
      ];
}
