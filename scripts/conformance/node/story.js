// The story of two services with eureka-js-client, which reads everything (`full`) or changes (`delta`). Runs inside stage.py.
'use strict';

const assert = require('assert');
const { client, done, VERSION } = require('./client');

const MODE = process.argv[2];
const DIRECT = process.env.DIRECT_URL;
const APP = 'JS-STORY';

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function waitFor(what, condition, seconds = 15) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`);
    await sleep(50);
  }
}

// As an operator, not through a proxy.
async function call(method, url, body) {
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : undefined };
}

async function stored(id) {
  const { body } = await call('GET', `${DIRECT}/apps/${APP}/${id}`);
  return body && body.instance;
}

async function reads(kind) {
  const answer = await fetch(`${new URL(DIRECT).origin}/metrics`);
  const line = new RegExp(`^eureka_get_${kind}_total(?:{[^}]*})? (\\S+)$`, 'm');
  return Number(line.exec(await answer.text())[1]);
}

async function changeMetadata() {
  assert.strictEqual((await call('PUT', `${DIRECT}/apps/${APP}/one/metadata?who=changed&new=%C3%BC`)).status, 200);
}

function member(id, port, vipAddress) {
  const instance = {
    instanceId: id,
    app: 'js-story',
    hostName: `${id}.test`,
    ipAddr: '127.0.0.1',
    port: { $: port, '@enabled': true },
    vipAddress,
    dataCenterInfo: { '@class': 'com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo', name: 'MyOwn' },
    leaseInfo: { renewalIntervalInSecs: 1, durationInSecs: 2 },
    metadata: { who: id },
  };
  // Not to filter is the only way to see, in the client, that an instance is out of service.
  return client(instance, { filterUpInstances: false }, { shouldUseDelta: MODE === 'delta' });
}

// By VIP: in its list by application, a delta's change replaces the first instance, whichever it is about.
const seen = (member, id) => member.getInstancesByVipAddress('js-vip').find((instance) => instance.instanceId === id);
const sees = (member, what, id, condition) =>
  waitFor(what, () => {
    const instance = seen(member, id);
    return instance && condition(instance);
  });
const hasStatus = (status) => (instance) => instance.status === status;

const STORY = [
  ['registers (JSON) and is UP', async (story) => {
    story.one = member('one', 9001, 'js-vip,js-other');
    story.one.on('heartbeat', () => { story.heartbeats += 1; });
    await done(story.one, 'start');
    const instance = await stored('one');
    assert.deepStrictEqual([instance.status, instance.metadata.who, instance.leaseInfo.durationInSecs], ['UP', 'one', 2]);
  }],
  ['a second instance of the application finds it, and is found', async (story) => {
    story.two = member('two', 9002, 'js-vip');
    await done(story.two, 'start');
    const found = story.two.getInstancesByAppId(APP).map((instance) => instance.instanceId);
    assert.deepStrictEqual(found.sort(), ['one', 'two']);
    await waitFor('the first one finds the second', () => story.one.getInstancesByAppId('js-story').length === 2);
  }],
  ['is found by VIP', async (story) => {
    assert.deepStrictEqual(story.two.getInstancesByVipAddress('js-vip').map((instance) => instance.instanceId).sort(), ['one', 'two']);
    assert.deepStrictEqual(story.two.getInstancesByVipAddress('js-other').map((instance) => instance.port.$), [9001]);
  }],
  ['goes OUT_OF_SERVICE and back (operator)', async (story) => {
    assert.strictEqual((await call('PUT', `${DIRECT}/apps/${APP}/one/status?value=OUT_OF_SERVICE`)).status, 200);
    await sees(story.two, 'it out of service', 'one', hasStatus('OUT_OF_SERVICE'));
    const beats = story.heartbeats;
    await waitFor('two heartbeats', () => story.heartbeats >= beats + 2);
    assert.strictEqual((await stored('one')).status, 'OUT_OF_SERVICE');
    assert.strictEqual((await call('DELETE', `${DIRECT}/apps/${APP}/one/status?value=UP`)).status, 200);
    await sees(story.two, 'it back', 'one', hasStatus('UP'));
  }],
  MODE === 'full' ? ['sees changed metadata', async (story) => {
    const [full, delta] = [await reads('all'), await reads('all_delta')];
    await changeMetadata();
    await sees(story.two, 'the metadata', 'one', ({ metadata }) => metadata.who === 'changed' && metadata.new === 'ü');
    assert.deepStrictEqual([await reads('all') > full, await reads('all_delta') > delta], [true, false], 'which lists it reads');
  }] : ['does not see changed metadata (its defect: drops an ADDED one that it has)', async (story) => {
    // As the Java server, heureka lists changed metadata as ADDED. Should the client ever take it, this step is out of date.
    const [full, delta] = [await reads('all'), await reads('all_delta')];
    await changeMetadata();
    const { body } = await call('GET', `${DIRECT}/apps/delta`);
    const listed = body.applications.application.flatMap((app) => app.instance).find((instance) => instance.instanceId === 'one');
    assert.deepStrictEqual([listed.actionType, listed.metadata.who, listed.metadata.new], ['ADDED', 'changed', 'ü']);
    await waitFor('it reads deltas', async () => await reads('all_delta') > delta + 6);
    assert.strictEqual(await reads('all'), full, 'no full read');
    assert.strictEqual(seen(story.two, 'one').metadata.who, 'one');
  }],
  ['a lease of 2 s stays while heartbeats come, and only then', async (story) => {
    const { instanceId, hostName, lastDirtyTimestamp, ...rest } = await stored('one');
    const witness = { ...rest, instanceId: 'witness', hostName: 'w.test' };
    assert.strictEqual((await call('POST', `${DIRECT}/apps/${APP}`, { instance: witness })).status, 204);
    await sees(story.two, 'a lease without heartbeats', 'witness', hasStatus('UP'));
    await waitFor('the lease without heartbeats ends', async () => !(await stored('witness')));
    assert(await stored('one') && await stored('two'));
    await waitFor('the other one sees it gone', () => !seen(story.two, 'witness'));
  }],
  ['server killed and restarted empty: is back by itself, and found again', async (story) => {
    assert.strictEqual((await call('POST', `${process.env.CONTROL_URL}/restart`)).status, 204);
    for (const id of ['one', 'two']) await waitFor(`${id} is back`, async () => ((await stored(id)) || {}).status === 'UP');
    await sees(story.two, 'the first one', 'one', hasStatus('UP'));
  }],
  ['deregisters and is gone', async (story) => {
    await done(story.one, 'stop');
    assert.strictEqual(await stored('one'), undefined);
    await waitFor('the other one sees it gone', () => !seen(story.two, 'one'));
    await done(story.two, 'stop');
    assert.strictEqual((await call('GET', `${DIRECT}/apps/${APP}`)).status, 404);
  }],
];

async function main() {
  const story = { heartbeats: 0 };
  for (const [step, tell] of STORY) {
    let result = 'ok';
    try {
      await tell(story);
    } catch (error) {
      result = `FAILED: ${String(error && error.message).replace(/\s+/g, ' ').slice(0, 300)}`;
    }
    console.log(['eureka-js-client', VERSION, `${MODE === 'delta' ? 'deltas: ' : 'full reads: '}${step}`, result].join('\t'));
    if (result !== 'ok') process.exit(1);
  }
  process.exit(0);
}

main();
