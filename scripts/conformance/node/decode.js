// The registry of oddities as eureka-js-client reads it (always JSON), for ../arrival.py.
'use strict';

const { client, done, VERSION } = require('./client');

function reader(compact, more) {
  const requestMiddleware = (request, next) => next(compact ? { ...request, headers: { ...request.headers, 'X-Eureka-Accept': 'compact' } } : request);
  return client({}, { registerWithEureka: false, filterUpInstances: false, fetchMetadata: false }, { requestMiddleware, ...more });
}

function record(instance) {
  const center = instance.dataCenterInfo;
  const boolean = (text) => ({ true: true, false: false })[text];
  return {
    app: instance.app,
    instanceId: instance.instanceId,
    hostName: instance.hostName,
    ipAddr: instance.ipAddr,
    status: instance.status,
    port: instance.port.$,
    portEnabled: boolean(instance.port['@enabled']),
    securePort: instance.securePort.$,
    securePortEnabled: boolean(instance.securePort['@enabled']),
    vipAddress: instance.vipAddress,
    secureVipAddress: instance.secureVipAddress,
    homePageUrl: instance.homePageUrl,
    dataCenter: center.name,
    dataCenterMetadata: center.metadata || {},
    metadata: instance.metadata || {},
  };
}

const records = (eureka) => Object.keys(eureka.cache.app).flatMap((app) => eureka.getInstancesByAppId(app)).map(record);

async function main() {
  const views = {
    async full() {
      const eureka = reader(false);
      await done(eureka, 'fetchRegistry');
      return records(eureka);
    },
    async compact() {
      const eureka = reader(true);
      await done(eureka, 'fetchRegistry');
      return records(eureka);
    },
    async delta() {
      // Everything is an addition: it was registered a moment ago.
      const eureka = reader(false, { shouldUseDelta: true });
      eureka.hasFullRegistry = true;
      await done(eureka, 'fetchRegistry');
      return records(eureka);
    },
  };
  for (const [view, read] of Object.entries(views)) {
    const dump = { client: 'eureka-js-client', version: VERSION, format: 'json', view };
    try {
      dump.records = await read();
    } catch (error) {
      dump.error = String(error);
    }
    console.log(JSON.stringify(dump));
  }
}

main();
