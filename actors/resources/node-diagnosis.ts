/** A diagnosis as clients see it. It holds no address of the VPN and no secret (R3, E4). */
import { z } from 'zod';
import { DIAGNOSIS_STATUSES, DiagnosisDetail } from '../../transport/protocol/diagnosis.ts';
import { resource } from './resource.ts';

/** A report on a node: what its agent checked, and what the admin sees of the way to it. */
export const NodeDiagnosisResource = resource(
  'NodeDiagnosis',
  'What is wrong with a node, and what to do. Making one changes nothing.',
  {
    overall: z.enum(DIAGNOSIS_STATUSES).describe('The worst of all checks.'),
    collected_at: z.iso
      .datetime()
      .describe("When the agent's own checks were made; of a node that is away, its last report."),
    is_live: z.boolean().describe("Whether the agent's own checks were made just now."),
    checks: z
      .array(
        z.object({
          name: z.string(),
          status: z.enum(DIAGNOSIS_STATUSES),
          summary: z.string().describe('One sentence.'),
          hint: z.string().nullable().describe('What to do; null when it passes.'),
          details: z.record(z.string(), DiagnosisDetail).nullable(),
          duration_ms: z.int(),
        }),
      )
      .describe('In the order in which to read them: the network before the services.'),
  },
);
export type NodeDiagnosisResource = z.output<typeof NodeDiagnosisResource>;
