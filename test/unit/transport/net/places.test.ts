import test from 'ava';
import { Places } from '../../../../transport/net/places.ts';

/** Whether each of them got a place, in their order. */
const took = (places: Places, ...holders: readonly string[]) => holders.map((holder) => places.take(holder) !== null);

test('one holder has its share and leaves the rest to others, and all places have an end', (t) => {
  const places = new Places({ placesMax: 3, ofOneMax: 2 });

  t.deepEqual(took(places, 'a', 'a', 'a', 'b', 'c'), [true, true, false, true, false]);
  t.is(places.taken, 3);
});

test('a place that is given back is another one’s, and giving it back twice frees no second one', (t) => {
  const places = new Places({ placesMax: 2, ofOneMax: 2 });
  const [first] = [places.take('a'), places.take('a')];

  first?.();
  first?.();

  t.is(places.taken, 1);
  t.deepEqual(took(places, 'b', 'b'), [true, false]);
});

test('a holder that gave back all of its places has its whole share again', (t) => {
  const places = new Places({ ofOneMax: 2 });
  for (let times = 0; times < 3; times += 1) {
    const taken = [places.take('a'), places.take('a')];
    t.is(places.take('a'), null);
    for (const giveBack of taken) giveBack?.();
  }

  t.is(places.taken, 0);
  t.deepEqual(took(places, 'a', 'a', 'a'), [true, true, false]);
});
