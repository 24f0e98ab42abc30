/** A diagnosis as clients see it. It holds no address of the VPN and no secret (R3, E4). */
import { z } from 'zod';
import type { NodeReport } from '../../actors/resources.ts';
import { DIAGNOSIS_STATUSES, DiagnosisDetail } from '../../transport/protocol/diagnosis.ts';

/** A report on a node. */
export const DiagnosisView: z.ZodType<NodeReport> = z
  .object({
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
  })
  .meta({ id: 'NodeDiagnosis', description: 'What is wrong with a node, and what to do. Making one changes nothing.' });
