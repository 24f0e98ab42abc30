/** What was run, and when. */
import type { CommandResource } from '../../../actors/resources/command.ts';
import { Ago } from '../../parts/ago.tsx';
import { exactly } from '../../relative-time.ts';
import { durationText } from '../../run/duration.ts';
import { RUN } from '../../texts/run.ts';

const T = RUN.command.times;

/** The script as it was given, and its times. */
export function About({ command }: { readonly command: CommandResource }) {
  const { command_text: text, inserted_at: created, timeout, expired_at: expires } = command;
  return (
    <div class="command-about">
      <pre tabIndex={0} aria-label={RUN.form.text}>
        <bdi>{text}</bdi>
      </pre>
      <p class="soft">
        {T.created} <Ago at={created} /> {T.ago}
        {timeout !== null && ` · ${durationText(timeout)} ${T.timeout}`}
        {expires !== null && ` · ${T.expires} ${exactly(expires)}`}
      </p>
    </div>
  );
}
