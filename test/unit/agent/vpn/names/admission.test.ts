import test from 'ava';
import { createAdmission } from '../../../../../agent/vpn/names/admission.ts';

test('while the system tells no addresses, as no file can be opened, those of before count', (t) => {
  let [nowMs, asked] = [0, 0];
  const admission = createAdmission({
    ranges: () => [],
    nowMs: () => nowMs,
    ownAddresses() {
      asked += 1;
      if (asked > 1) throw new Error('too many open files');
      return ['192.0.2.1'];
    },
  });

  t.true(admission.admits('192.0.2.1'));
  nowMs = 10_000;

  t.true(admission.admits('192.0.2.1'));
  t.false(admission.admits('192.0.2.2'));
  t.is(asked, 2);
});
