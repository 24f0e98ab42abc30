/**
 * What is wrong with a node, and what to do about it: asked live when the page is opened, and when somebody says so.
 */
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { NODE } from '../../texts/node.ts';
import { AskedSection } from './asked-section.tsx';
import { useOnce } from './once.ts';

type Check = NodeDiagnosisResource['checks'][number];

const T = NODE.diagnosis;

/** What does not pass stands open, the rest behind one line. */
export function Diagnosis({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const asked = useOnce(() => live.api.get_node_diagnostics.query({ id: node.id }), node.status).value;
  return (
    <AskedSection id="diagnosis" words={T} asked={asked}>
      {(report) => <Report report={report} />}
    </AskedSection>
  );
}

function Report({ report }: { readonly report: NodeDiagnosisResource }) {
  const troubles = report.checks.filter(({ status }) => status !== 'pass');
  const passed = report.checks.filter(({ status }) => status === 'pass');
  return (
    <>
      <p class={`verdict ${report.overall}`}>
        {T.overall[report.overall]} <span class="soft">{report.is_live ? T.live : T.old}</span>{' '}
        <Ago at={report.collected_at} />
      </p>
      {troubles.length > 0 && (
        <ul class="checks">
          {troubles.map((check) => (
            <CheckLine key={check.name} check={check} />
          ))}
        </ul>
      )}
      {passed.length > 0 && (
        <details class="passed">
          <summary>{T.passed(passed.length)}</summary>
          <ul class="checks">
            {passed.map((check) => (
              <CheckLine key={check.name} check={check} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** All of it is the machine's own word. */
function CheckLine({ check: { name, status, summary, hint, details } }: { readonly check: Check }) {
  const entries = Object.entries(details ?? {}).filter(([, value]) => value !== null);
  return (
    <li class={`check ${status}`}>
      <div>
        <span class="verdict">{T.status[status]}</span> <code>{name}</code> <bdi>{summary}</bdi>
      </div>
      {hint !== null && (
        <p class="hint">
          <b>{T.hint}</b> <bdi>{hint}</bdi>
        </p>
      )}
      {entries.length > 0 && (
        <dl class="details">
          {entries.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <bdi>{String(value)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
